"""Storage of objects: the generic registry, its watch cache, a strategy for each kind."""
