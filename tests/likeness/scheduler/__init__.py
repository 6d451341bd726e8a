"""Worlds of nodes and pods, and what kube-scheduler 1.33.4 decided in them."""
