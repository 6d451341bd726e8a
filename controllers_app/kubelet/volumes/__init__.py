"""The volumes of pods: what they name, what is in them, and what is kept of claims."""
