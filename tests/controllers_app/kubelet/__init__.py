"""Tests of the kubelet."""
