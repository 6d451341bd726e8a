"""What servers of images answer on their ports."""
