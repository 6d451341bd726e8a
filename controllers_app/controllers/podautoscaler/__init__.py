"""The horizontal pod autoscaler: metrics, replica counts, limits."""
