"""The processes: kernel host and worker, the port between them, the edge, their supervision."""
