"""Which privileges pods may have, and which images they run."""
