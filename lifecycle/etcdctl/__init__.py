"""etcdctl against the cluster's own store: the server's side, the commands and what they print."""
