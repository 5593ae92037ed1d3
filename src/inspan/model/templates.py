"""Templates: data in which placeholders stand for values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["PLACEHOLDER", "placeholders"]

PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)\}")
"""A placeholder: a path in braces."""


def placeholders(template: Any) -> Iterator[str]:
    """Every placeholder of a template, without its braces."""
    if isinstance(template, str):
        yield from PLACEHOLDER.findall(template)
    elif isinstance(template, Mapping):
        for one in template.values():  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
            yield from placeholders(one)
    elif isinstance(template, list | tuple):
        for one in template:  # pyright: ignore[reportUnknownVariableType]
            yield from placeholders(one)
