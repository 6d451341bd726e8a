"""Tests of the product API."""
