"""The product's own API at /viz/v1: state and control of clusters, apply, saved traces."""
