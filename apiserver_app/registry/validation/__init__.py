"""Validation that kinds share: metadata, selectors, conditions, addresses, PEM; Go syntax."""
