"""What a request carried: its body, its query, and what they ask for."""
