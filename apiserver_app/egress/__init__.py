"""The API server's outbound calls: to webhooks, identity providers and aggregated servers."""
