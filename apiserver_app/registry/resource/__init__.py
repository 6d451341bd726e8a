"""Dynamic resource allocation: ResourceClaims, DeviceClasses, ResourceSlices."""
