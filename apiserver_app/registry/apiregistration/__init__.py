"""APIServices, and the routes they make."""
