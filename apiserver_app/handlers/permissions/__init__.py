"""What a writer must be allowed beyond the request itself, by what is in the object."""
