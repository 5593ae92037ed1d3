"""The tools by which an agent builds and operates apps: one table, from which every binding is made."""

from __future__ import annotations

__all__: list[str] = []
