"""The simulated container runtime: what is inside of containers, and the network between them."""
