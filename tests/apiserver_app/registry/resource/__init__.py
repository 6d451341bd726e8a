"""Tests of kinds of devices."""
