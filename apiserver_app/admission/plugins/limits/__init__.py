"""How much of everything there may be: quotas, ranges, rates."""
