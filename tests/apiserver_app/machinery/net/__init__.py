"""Tests of HTTP as components speak it."""
