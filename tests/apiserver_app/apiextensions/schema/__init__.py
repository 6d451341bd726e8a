"""Tests of values against a definition's schema."""
