"""The job controller and completion indexes."""
