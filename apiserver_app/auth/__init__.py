"""Authentication, authorization, keys and the objects a new cluster starts with."""
