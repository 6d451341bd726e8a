"""Tests of the port between edge and worker."""
