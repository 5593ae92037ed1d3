"""Inspan: one contract through which anybody can drive any coding-agent harness."""

__all__ = ["__version__"]

__version__ = "0.1.0"
