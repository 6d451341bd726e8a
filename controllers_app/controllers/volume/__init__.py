"""Claims bound to volumes, ephemeral claims, protection of what is in use."""
