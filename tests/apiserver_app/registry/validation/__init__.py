"""Tests of validation that kinds share."""
