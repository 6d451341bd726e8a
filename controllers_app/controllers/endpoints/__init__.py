"""The endpoints and endpoint slice controllers."""
