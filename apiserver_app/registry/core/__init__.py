"""The kinds of the core group, and what other groups share with them."""
