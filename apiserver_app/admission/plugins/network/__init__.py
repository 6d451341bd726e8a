"""Ingress classes and the addresses of services."""
