"""What a request does once it was authorized and routed, a room for each sort of operation."""
