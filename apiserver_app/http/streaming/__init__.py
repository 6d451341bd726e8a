"""Connections that stay open: exec, attach, portforward and logs, over WebSocket or SPDY."""
