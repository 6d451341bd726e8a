"""The edge: what speaks HTTP, TLS and WebSocket to clients, and decides nothing about a cluster."""
