"""Checks and defaults that a write passes between authorization and the store."""
