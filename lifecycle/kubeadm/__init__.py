"""What `kubeadm init` leaves in a new cluster: its objects, and the phases that create them."""
