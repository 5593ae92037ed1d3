"""Reads the words of a command line: positions, and flags that each have a value unless they are told not to."""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Sequence

from inspan.apps.faults import Misused

from .screen import printable

__all__ = ["Words", "command_line", "read_words"]

_LONGEST_COMMAND = 200_000  # a command that is cut could not be run


class Words:
    """A command line that was read. What a command does not take is refused by `done`.

    Attributes:
        places: The words that are no flags and no flag's value, in order.
    """

    def __init__(self, places: list[str], flags: list[tuple[str, str]], switches: set[str]) -> None:
        self.places = places
        self._flags = flags
        self._switches = switches

    def switch(self, name: str) -> bool:
        """Whether a flag without a value was given; it counts as used."""
        found = name in self._switches
        self._switches.discard(name)
        return found

    def one(self, name: str) -> str | None:
        """The value of a flag that may be given once; it counts as used.

        Raises:
            Misused: It was given twice.
        """
        values = self.all(name)
        if len(values) > 1:
            raise Misused(f"--{name} was given {len(values)} times.", hint="Give it once.")
        return values[0] if values else None

    def all(self, name: str) -> list[str]:
        """The values of a flag that may be repeated, in order; they count as used."""
        values = [value for flag, value in self._flags if flag == name]
        self._flags = [(flag, value) for flag, value in self._flags if flag != name]
        return values

    def whole(self, name: str, *, least: int = 0, most: int | None = None) -> int | None:
        """The value of a flag that takes a whole number.

        Raises:
            Misused: It is none, or out of bounds.
        """
        text = self.one(name)
        if text is None:
            return None
        number = _whole(text)
        if number is None or number < least or (most is not None and number > most):
            bounds = f"from {least} to {most}" if most is not None else f"of at least {least}"
            raise Misused(
                f"--{name} takes a whole number {bounds}, not {printable(text, longest=40)!r}.",
                hint=f"Such as --{name} {max(least, 100)}.",
            )
        return number

    def number(self, name: str) -> float | None:
        """The value of a flag that takes a number; whole where it is one.

        Raises:
            Misused: It is none.
        """
        text = self.one(name)
        if text is None:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise Misused(
                f"--{name} takes a number, not {printable(text, longest=40)!r}.", hint=f"Such as --{name} 50."
            )
        return int(value) if value.is_integer() else value

    def rest(self) -> list[tuple[str, str]]:
        """Every flag that was not asked for by name, with its value, in order; all count as used."""
        flags, self._flags = self._flags, []
        return flags

    def done(self, *, places: int, usage: str) -> None:
        """Refuses what is left over.

        Args:
            places: How many positions the command took.
            usage: The right form, for the message.

        Raises:
            Misused: There are more words, or flags that nobody asked for.
        """
        odd = [*self.places[places:], *(f"--{flag}" for flag, _ in self._flags)]
        odd += [f"--{switch}" for switch in sorted(self._switches)]
        if odd:
            raise Misused(f"{printable(odd[0], longest=80)!r} has no place here.", hint=f"Usage: {usage}")


def read_words(words: Sequence[str], *, switches: Collection[str] = ()) -> Words:
    """Takes a command line apart. `--flag value` and `--flag=value` are the same; after `--` all are positions.

    Args:
        words: What follows the program's name.
        switches: Flags that have no value.

    Raises:
        Misused: A flag has no value (a following word that starts with `--` is none), or is no flag.
    """
    places: list[str] = []
    flags: list[tuple[str, str]] = []
    given: set[str] = set()
    left = list(reversed(words))
    while left:
        word = left.pop()
        if word == "--":
            places.extend(reversed(left))
            break
        if word == "-h":
            word = "--help"
        if not word.startswith("--"):
            if word.startswith("-") and len(word) > 1 and not _is_number(word):
                raise Misused(
                    f"{printable(word, longest=80)!r} is no flag: flags have two dashes.",
                    hint="A position that starts with a dash goes after `--`.",
                )
            places.append(word)
            continue
        name, has_value, value = word[2:].partition("=")
        if not name:
            raise Misused(f"{printable(word, longest=80)!r} is no flag.")
        if name in switches or name == "help":
            if has_value:
                raise Misused(f"--{printable(name, longest=80)} takes no value.")
            given.add(name)
        elif has_value:
            flags.append((name, value))
        elif not left or left[-1].startswith("--"):
            raise Misused(
                f"--{printable(name, longest=80)} has no value.",
                hint="A value that itself starts with `--` is given as --flag=VALUE.",
            )
        else:
            flags.append((name, left.pop()))
    return Words(places, flags, given)


def command_line(*words: str) -> str:
    """The words as one line that a shell reads back as the same words, safe to print."""
    return printable(" ".join(_quoted(word) for word in words), longest=_LONGEST_COMMAND)


def _quoted(word: str) -> str:
    # Words such as ID or FIELD stand for something; they and plain ones stay as they are.
    return word if word.isidentifier() else shlex.quote(word)


def _whole(text: str) -> int | None:
    digits = text.removeprefix("-")
    return int(text) if digits.isascii() and digits.isdigit() and len(digits) <= 15 else None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
