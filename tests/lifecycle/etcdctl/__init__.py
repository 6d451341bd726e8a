"""Tests of etcdctl."""
