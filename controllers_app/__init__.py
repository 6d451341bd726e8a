"""Everything that talks to the API server: controllers, scheduler, kubelets, and their runtime."""
