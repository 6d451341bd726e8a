"""The edge: speaks HTTP, TLS and WebSocket with clients; all decisions are the worker's."""
