"""What the handlers decide, on the whole cluster in virtual time."""
