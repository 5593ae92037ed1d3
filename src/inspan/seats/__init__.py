"""Seats: decide, act, restore."""

__all__: list[str] = []
