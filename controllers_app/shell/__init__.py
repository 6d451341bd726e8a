"""A small POSIX-like shell with the commands one looks around with, for simulated containers.

Nothing here starts a process: a command is a function of its arguments, its input and what the
container is. Everything is bounded: steps without a wait, depth, sizes of words, files and output.
"""
