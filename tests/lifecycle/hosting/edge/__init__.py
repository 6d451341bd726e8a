"""Tests of the edge, most of them on real sockets."""
