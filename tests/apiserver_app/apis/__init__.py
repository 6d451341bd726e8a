"""Tests of what API server and controllers both know of kinds."""
