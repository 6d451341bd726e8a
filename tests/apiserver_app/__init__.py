"""Tests of the API server and etcd."""
