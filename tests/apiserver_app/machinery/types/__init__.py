"""Tests of schemas, decoding and sets of fields."""
