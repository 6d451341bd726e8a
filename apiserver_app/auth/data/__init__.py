"""The default policy and cast as data: compact text, parsed once at start-up."""
