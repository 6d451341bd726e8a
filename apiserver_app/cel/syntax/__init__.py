"""Expressions from text to tree."""
