"""The processes of a demo. At the top what starts and joins them; below it three rooms: the edge,
the worker, and the port between them, which know one another only through the port.
"""
