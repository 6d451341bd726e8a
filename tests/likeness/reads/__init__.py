"""Reads and refused requests, with what kube-apiserver 1.33.4 answered."""
