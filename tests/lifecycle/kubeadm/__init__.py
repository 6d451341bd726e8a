"""kubeadm's objects in a simulated cluster."""
