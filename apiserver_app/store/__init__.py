"""etcd: one log of revisions per cluster, an index of current values, watches, leases."""
