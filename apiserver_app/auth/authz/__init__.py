"""Authorizers, one a file, and their union."""
