"""The page's model, tested by node."""
