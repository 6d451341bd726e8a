"""Tests of request bodies and protobuf."""
