"""URLs, addresses and HTTP as Go reads them, and what a kubelet offers to the API server."""
