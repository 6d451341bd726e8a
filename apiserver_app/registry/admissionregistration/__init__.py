"""Admission policies and webhook configurations."""
