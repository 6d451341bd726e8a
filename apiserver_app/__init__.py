"""The simulated kube-apiserver and etcd."""
