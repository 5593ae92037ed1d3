"""Checks, scripted harnesses and replay for harness authors."""

__all__: list[str] = []
