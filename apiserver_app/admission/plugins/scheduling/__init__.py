"""What decides or marks where a pod may run, and in which order."""
