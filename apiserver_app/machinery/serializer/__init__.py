"""Request bodies and stored objects: JSON, YAML, protobuf."""
