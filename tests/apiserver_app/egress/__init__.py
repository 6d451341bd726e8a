"""Tests of calls that the API server makes."""
