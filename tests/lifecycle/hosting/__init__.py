"""Tests of the hosting."""
