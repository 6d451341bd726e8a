"""Ingresses, NetworkPolicies, ServiceCIDRs, IPAddresses."""
