"""Tests of the Django project."""
