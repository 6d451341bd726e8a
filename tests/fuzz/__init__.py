"""Requests that nobody would think of."""
