"""Tests of kinds in several versions."""
