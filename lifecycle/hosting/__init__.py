"""The processes of a demo. At the top what starts and joins them, and runs by a
script that need no process; below it three rooms: the edge,
the worker, and the port between them, which know one another only through the port.
"""
