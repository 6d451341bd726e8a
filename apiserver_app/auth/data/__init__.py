"""The default policy and the classroom's people as data: compact text, parsed at start-up."""
