"""The wire formats of the Kubernetes API: request lines, content negotiation and responses."""
