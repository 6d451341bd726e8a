"""Subresources that reach into a node: logs, exec, attach, port-forward and proxies."""
