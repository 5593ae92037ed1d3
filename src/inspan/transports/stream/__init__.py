"""The `stream` transport: a harness's own conversation of records, spoken by rules that are data."""

from .machine import StreamMachine

__all__ = ["StreamMachine"]
