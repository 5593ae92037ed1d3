"""Finds text in files: by ripgrep where there is one, else by a program of our own, with the same answers."""
