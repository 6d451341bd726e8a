"""The built-in kinds by version, which of them are served, and feature gates."""
