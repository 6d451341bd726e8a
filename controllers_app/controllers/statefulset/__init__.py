"""The stateful set controller and the identity of its pods."""
