"""kube-proxy: the rules by which a node leads the addresses of services to endpoints."""
