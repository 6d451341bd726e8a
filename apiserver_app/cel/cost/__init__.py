"""What an expression costs: estimates before it runs, and the cost of each function."""
