"""What the programs end with when something is wrong, grouped by the exit status that it leads to.

```
Fault
├── Rejected         1: a guard, a gate or the surroundings said no
├── Misused          2: the command line is wrong; nothing was done
└── AppUnreachable   3: no app answers where it should
```

What an *app* answers with is no fault but a value (`client.Reply`).
"""

from __future__ import annotations

from typing import ClassVar

__all__ = ["AppUnreachable", "Fault", "Misused", "Rejected"]


class Fault(Exception):
    """The root. `message` is the fact, `hint` the next thing to do (may be empty), `exit_status` the program's.

    `fields` are further JSON values for the machine-readable line; never a secret.
    """

    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str = "", fields: dict[str, object] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.fields: dict[str, object] = dict(fields or {})

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".rstrip()


class Rejected(Fault):
    """A guard, a gate or the surroundings (a lock, a file, a port) refused what was asked."""


class Misused(Fault):
    """The command line has a wrong form, or names what is not there; nothing was done."""

    exit_status = 2


class AppUnreachable(Fault):
    """Nothing answers at the app's address, or not in time, or not in HTTP."""

    exit_status = 3
