"""API priority and fairness: who a request belongs to, and how many of them are served at once."""
