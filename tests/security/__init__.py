"""Who may do what, and what leaves: every way in, tried with fewer rights than it needs."""
