"""The worker: drives whole clusters in slices, commits them, and knows no socket but the port."""
