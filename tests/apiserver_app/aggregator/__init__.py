"""Tests of the aggregator."""
