"""Processes that die: nothing acknowledged is lost, and the cluster goes on."""
