"""Tests of the simulated etcd."""
