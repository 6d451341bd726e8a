"""One whole cluster: its composition, its roles, and what stands beside its API server."""
