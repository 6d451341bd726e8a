"""Whole clusters in virtual time, from one script to its trace."""
