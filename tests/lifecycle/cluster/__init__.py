"""Tests of a cluster's composition and of its components as processes."""
