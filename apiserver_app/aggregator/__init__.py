"""The outermost of the three servers: who answers for a group version, and the way there."""
