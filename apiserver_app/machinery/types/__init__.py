"""The typed objects of a Kubernetes version: schemas, decoding, sets of fields."""
