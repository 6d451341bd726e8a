"""Tests of server-side printing."""
