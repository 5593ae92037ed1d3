"""A seat's configuration: whether it has a folder of its own, and what of the operator's goes into it."""

from __future__ import annotations

from typing import Literal

import msgspec

__all__ = ["SeatConfigView", "SharedConfig"]

SharedConfig = Literal["sign_in", "settings"]
"""What of the operator's own configuration a seat may have: the files that a sign-in left, the settings."""


class SeatConfigView(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Where a seat's harness keeps its configuration.

    Attributes:
        isolated: Whether the folder is the seat's own.
        folder: The folder; empty where it is not known.
        variable: The variable by which the harness is told.
        isolation: How far that keeps seats apart: as in the manifest.
        writes_back: Whether the harness writes into it by itself.
        shares: What of the operator's went into it.
        note: What is shared all the same.
    """

    isolated: bool
    folder: str = ""
    variable: str = ""
    isolation: str = "unknown"
    writes_back: str = "unknown"
    shares: tuple[SharedConfig, ...] = ()
    note: str = ""
