"""Admission webhooks: whom a request concerns, how they are asked, what they may answer."""
