"""The Django project and the product around the cluster."""
