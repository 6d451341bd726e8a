"""The commands that images have, by subject: each is a function of its `Call`."""
