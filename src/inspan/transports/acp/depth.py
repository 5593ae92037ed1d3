"""How deeply a line nests: a report must be readable wherever it is written again, not just where it was read."""

from __future__ import annotations

import re

__all__ = ["DEPTH_CAP", "is_too_deep"]

DEPTH_CAP = 200
"""Arrays and objects within each other; real messages have a dozen. Python's own limit is near 1000 calls, and
what is read at the bottom of a short stack would fail to be written at the top of a long one."""

_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


def is_too_deep(line: bytes) -> bool:
    """Whether arrays and objects nest deeper than `DEPTH_CAP`; brackets within strings do not count."""
    if line.count(b"{") + line.count(b"[") <= DEPTH_CAP:
        return False
    depth = 0
    for token in _TOKENS.finditer(line):
        match line[token.start()]:
            case 0x7B | 0x5B:
                depth += 1
                if depth > DEPTH_CAP:
                    return True
            case 0x7D | 0x5D:
                depth -= 1
            case _:
                pass
    return False
