"""How the suite itself is run: its sizes, its seed of the day, its costs, what a failure leaves.

`sizes` says which tests belong to which of the three sizes, `seeds` draws samples, `machine` says
how slow this machine is, `waiting` is the one way to wait, `costs` counts processor seconds,
`evidence` keeps what a failed test leaves, `again` tells a flake from a failure, `flakes` hunts for
them, `mutants` breaks the product and looks whether a test notices.
"""
