"""Pods: strategy, defaults, validation, updates, status, warnings."""
