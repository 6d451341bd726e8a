"""Bootstrap tokens: cluster-info signed with them, and their end."""
