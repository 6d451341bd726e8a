"""The port between edge and worker: its messages, the edge's side of it, and what carries it."""
