"""The running API server: its life, its counters, its configuration files."""
