"""Tests of the pure machinery: no Django, no kernel unless a test is about it."""
