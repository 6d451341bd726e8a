"""The pods of one node: a worker each, their containers, hooks and status."""
