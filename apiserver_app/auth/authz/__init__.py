"""Authorizers, one per file, and their union."""
