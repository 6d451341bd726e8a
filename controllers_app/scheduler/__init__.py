"""The scheduler: a queue, a cache of nodes, plugins that filter and score, and a binding."""
