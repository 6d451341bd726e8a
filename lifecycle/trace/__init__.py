"""The trace: recording, storage, files, replay in the terminal."""
