"""Data of the Go types, read by `machinery.gofields`; `extract` makes it."""
