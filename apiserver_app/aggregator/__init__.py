"""The outermost of the three servers: which server answers for a group version, and the proxy."""
