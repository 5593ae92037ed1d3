"""The `headless` transport: one process a prompt, its output read by rules that are data."""

from .machine import HeadlessMachine

__all__ = ["HeadlessMachine"]
