"""Admission webhooks: which ones match a request, how they are called, how answers are checked."""
