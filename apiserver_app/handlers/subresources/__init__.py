"""Subresources that are written in a way of their own."""
