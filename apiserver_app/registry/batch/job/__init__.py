"""Jobs: strategy, rules of the spec, policies, status."""
