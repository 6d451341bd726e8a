"""SPDY/3.1, for clients that do not speak WebSocket."""
