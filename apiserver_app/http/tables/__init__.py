"""Server-side printing: the tables that `kubectl get` shows."""
