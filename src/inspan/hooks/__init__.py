"""Hooks: the relay that a harness runs, what it writes while nobody listens, and the files in which it is installed."""
