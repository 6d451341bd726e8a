"""The simulated etcd: the store of revisions, where its log is kept, and a verb of the API a file.

`mvcc` is the store; `backend` (in memory) and `log` (in the database) keep its rows. `range`,
`put`, `delete_range`, `txn`, `watch`, `lease`, `members` and `maintenance` are what etcd's clients
ask of a `server`. The API server's storage is a client of the store itself.
"""
