"""Tests of connections that stay open."""
