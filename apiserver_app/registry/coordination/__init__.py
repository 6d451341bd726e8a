"""Leases and LeaseCandidates."""
