"""What a kubelet and a container runtime know of each other: images, environment. Pure."""
