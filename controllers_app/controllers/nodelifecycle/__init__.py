"""The node lifecycle controller: silent kubelets, taints, zones."""
