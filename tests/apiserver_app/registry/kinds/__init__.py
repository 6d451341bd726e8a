"""Tests of the kinds."""
