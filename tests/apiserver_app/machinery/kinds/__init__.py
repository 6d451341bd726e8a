"""Tests of the table of kinds."""
