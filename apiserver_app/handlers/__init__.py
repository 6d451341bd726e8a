"""What happens to a request once it was authorized and routed: writes, subresources, reviews."""
