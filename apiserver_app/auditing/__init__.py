"""The audit log: which requests are written down, how much of each, and as what."""
