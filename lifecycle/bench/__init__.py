"""Benchmarks: each measures one thing, in this process or against a server it starts itself."""
