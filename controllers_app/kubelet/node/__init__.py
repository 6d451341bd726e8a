"""What a kubelet tells the API server about its node: registration, status, lease."""
