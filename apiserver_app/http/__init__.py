"""The wire formats of the Kubernetes API: what a request line means, what an answer looks like."""
