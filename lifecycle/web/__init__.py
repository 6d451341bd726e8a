"""The page and its live feed: Django's views and the consumers of WebSockets."""
