"""What a namespace must be before something is in it."""
