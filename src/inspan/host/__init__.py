"""Finds, checks, loads and supervises harness plugins."""

from .host import HarnessHost, Placement
from .registry import HarnessRegistry, RegisteredHarness

__all__ = ["HarnessHost", "HarnessRegistry", "Placement", "RegisteredHarness"]
