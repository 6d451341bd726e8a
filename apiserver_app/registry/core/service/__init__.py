"""Services: strategy, rules, cluster IPs and node ports."""
