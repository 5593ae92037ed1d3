"""The tools as an MCP server, for every harness that speaks MCP."""

from __future__ import annotations

__all__: list[str] = []
