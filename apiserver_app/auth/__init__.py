"""Who asks and whether they may: authentication, authorization, keys, bootstrap objects."""
