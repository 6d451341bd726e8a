"""Patches: JSON, merge, strategic, server-side apply; managedFields."""
