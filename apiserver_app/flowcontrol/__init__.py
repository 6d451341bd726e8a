"""API priority and fairness: classifies requests and limits how many are served at once."""
