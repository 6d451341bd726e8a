"""Authenticators, one per file, and their union."""
