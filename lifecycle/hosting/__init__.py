"""The processes of a demo: how they start and are joined, and scripted runs that need no process.

The packages are the edge, the worker, and the port, through which alone these two communicate.
"""
