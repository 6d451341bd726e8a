"""StorageClasses, CSI drivers and nodes, VolumeAttachments."""
