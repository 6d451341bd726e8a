"""The small languages inside objects: names, label and field selectors, quantities."""
