"""Tests of patches, server-side apply and managedFields."""
