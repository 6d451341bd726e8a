"""Everything that reaches into the insides of Twisted, Daphne and Autobahn, and nothing else.

`docs/decisions/0003-edge-on-daphne.md` lists each hook with the test that notices an upgrade.
"""
