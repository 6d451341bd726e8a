"""The wire formats of the Kubernetes API: what a request line means and what an answer's bytes are."""
