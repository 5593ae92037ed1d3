"""The model library, behind the agent's own contract of a model provider. Nothing else of Inspan knows it.

It brings the wire formats of the well-known providers, what is known of their models, and prices. It takes a moment to
load, so importing this package does not load it; the first request does.
"""

from __future__ import annotations

from .provider import LibraryProvider

__all__ = ["LibraryProvider"]
