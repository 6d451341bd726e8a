"""What the page and its feed read."""
