"""Calls that the API server makes to webhooks, identity providers and aggregated servers."""
