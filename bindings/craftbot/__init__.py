"""Agent Apps in CraftBot: importing this registers the tools as actions."""

from __future__ import annotations

from .actions import register_actions

__all__ = ["REGISTERED"]

REGISTERED = register_actions()
"""The functions of the actions."""
