"""What the real control plane of a release did, held against what this one does.

`stories/` has one file for each story: its steps, and the requests that each component of the real
one sent, as its audit log recorded them. Nothing in it was written by this project's cluster.
"""
