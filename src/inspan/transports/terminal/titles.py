"""Titles: text that a program gave its window, made safe to keep and to match."""

from __future__ import annotations

import unicodedata

__all__ = ["MAX_TITLE", "clean_text", "clean_title"]

MAX_TITLE = 1024
"""The longest title that is kept, in characters."""

HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs"})


def clean_title(raw: bytes) -> str:
    """A title as text, without controls and invisible characters, cut at `MAX_TITLE`."""
    return clean_text(raw[: MAX_TITLE * 4].decode("utf-8", "replace"))[:MAX_TITLE]


def clean_text(text: str) -> str:
    """Text without controls, invisible characters and those that turn the direction of reading."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(letter for letter in text if unicodedata.category(letter) not in HIDDEN_CATEGORIES)
