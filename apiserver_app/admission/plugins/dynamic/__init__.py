"""Users' own admission: policies in CEL and webhooks."""
