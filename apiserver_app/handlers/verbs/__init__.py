"""Get, list, watch, create, update, patch and delete, of any kind."""
