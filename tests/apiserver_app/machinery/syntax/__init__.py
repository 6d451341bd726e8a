"""Tests of names, selectors and quantities."""
