"""The kubelets of the simulated nodes: everything up to the process is really decided."""
