"""The daemon set controller, and which nodes its pods may have."""
