"""What must not stop the cluster: attacks, each with the bound that holds it."""
