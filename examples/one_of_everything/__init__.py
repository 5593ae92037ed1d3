"""A runtime plugin that registers one contribution of every kind. Name this folder as an entry's `module`."""

from .plugin import plugin

__all__ = ["plugin"]
