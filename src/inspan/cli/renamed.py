"""Renamed words of the command line: an old one still works, and says what it is called now.

docs/compatibility.md is the policy. A command or an option is renamed by an entry in `inspan.cli.main`.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["use_new_words"]


def use_new_words(
    words: list[str],
    *,
    commands: Mapping[str, str],
    options: Mapping[tuple[str, str], str],
) -> tuple[list[str], list[str]]:
    """The words of a command line under their new names, and a sentence for each that had an old one.

    What stands behind `--` is text, and stays as it is.

    Args:
        words: The command and everything behind it.
        commands: Old name to new name of commands.
        options: Command and old option to the new option.
    """
    if not words:
        return words, []
    notes: list[str] = []
    command = words[0]
    if command in commands:
        notes.append(_note(command, commands[command]))
        command = commands[command]
    end = words.index("--") if "--" in words else len(words)
    rest: list[str] = []
    for word in words[1:end]:
        option, is_joined, value = word.partition("=")
        new = options.get((command, option))
        if new is None:
            rest.append(word)
        else:
            notes.append(_note(option, new))
            rest.append(f"{new}={value}" if is_joined else new)
    return [command, *rest, *words[end:]], notes


def _note(old: str, new: str) -> str:
    return f"{old} is called {new} now; the old name still works for a while"
