"""Long-running connections: exec, attach, portforward and logs, over WebSocket or SPDY."""
