"""What both programs answer before they look for an app: their help, their version, and that the app comes first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from inspan.apps.faults import Misused

from .screen import print_lines

__all__ = ["answer_alone"]


def answer_alone(
    program: str, words: Sequence[str], help_for: Callable[[Sequence[str]], list[str]], *, usage: str
) -> int | None:
    """Answers a command line that names no app, and gives the exit status; None where an app may be named.

    Args:
        program: What the program is called.
        words: All words after its name.
        help_for: The help of a verb, or of the program where there is none, in lines.
        usage: The form of a command line, for the hint.

    Raises:
        Misused: It begins with a flag.
    """
    if not words or words[0] in ("--help", "-h", "help"):
        print_lines(help_for(words[1:2]))
        return 0 if words else 2
    if words[0] == "--version":
        from inspan import __version__

        print_lines([f"{program} {__version__}"])
        return 0
    if words[0].startswith("-"):
        raise Misused("The app comes first, and flags after it.", hint=f"{usage}, or {program} --help")
    return None
