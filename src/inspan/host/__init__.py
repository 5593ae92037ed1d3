"""Finds, checks, loads and supervises harness plugins."""

__all__: list[str] = []
