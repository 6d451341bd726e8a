"""Authenticators, one a file, and their union."""
