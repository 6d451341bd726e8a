"""Tests of custom resources: definitions, their schemas, and what is served by them."""
