"""The simulated etcd: its store of revisions, the log's backends, and one file for each API verb.

`mvcc` is the store; `backend` (in memory) and `log` (in the database) keep its rows. `range`,
`put`, `delete_range`, `txn`, `watch`, `lease`, `members` and `maintenance` are the requests of
etcd's clients to a `server`. The API server's storage uses the store directly.
"""
