"""The page in a real browser, before a real cluster."""
