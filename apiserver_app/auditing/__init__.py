"""The audit log: which requests are logged, at which level, and where."""
