"""Tests of the worker and what it drives."""
