"""What the programs print: results on standard output, everything else on standard error.

Much of it was written by an app's users, so no letter of it may drive the terminal or start a line of its own.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence

from inspan.apps.faults import Fault
from inspan.apps.model.verbs import FRAMEWORK_VERBS, OPERATE_VERBS

__all__ = ["note", "print_json", "print_lines", "printable", "run_program", "warn"]

# Control characters (C0, DEL, C1), line and paragraph separators, and what reorders text that is read.
_UNSAFE = re.compile("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_LONGEST = 2000
_BROKEN_PIPE = 141
_INTERRUPTED = 130


def printable(text: object, *, longest: int = _LONGEST) -> str:
    """One line that is safe to print: control characters as escapes, and cut where it is longer than `longest`."""
    line = _UNSAFE.sub(_escaped, str(text))
    return line if len(line) <= longest else line[: longest - 1] + "…"


def print_json(value: object) -> None:
    """A result for a program: one JSON value on one line."""
    # Where the letters themselves cannot be written, JSON's own escapes can.
    is_utf8 = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not is_utf8, separators=(", ", ": "))
    sys.stdout.write(_UNSAFE.sub(_json_escaped, text) + "\n")


def print_lines(lines: Sequence[str]) -> None:
    """A screen of text. Each line was put together from `printable` pieces."""
    sys.stdout.write("\n".join(lines) + "\n")


def note(line: str) -> None:
    """A line for whoever watches, on standard error."""
    sys.stdout.flush()
    sys.stderr.write(line + "\n")


def warn(line: str) -> None:
    """Says what is wrong although the work goes on."""
    note(f"warning: {printable(line)}")


def run_program(name: str, run: Callable[[list[str]], int], argv: Sequence[str] | None) -> int:
    """Runs a program's body and gives its exit status; a fault becomes lines on standard error.

    Args:
        name: What the program is called.
        run: Its body: the words after the name, to an exit status.
        argv: The words; those of the process where None.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        status = run(words)
        sys.stdout.flush()
    except Fault as fault:
        note(f"{name}: {printable(fault.message)}")
        for line in fault.hint.splitlines():
            note(f"  next: {printable(_for_app(line, words))}")
        return fault.exit_status
    except BrokenPipeError:
        # The interpreter flushes standard output once more on its way out, and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE
    except OSError as error:
        place = f"{printable(error.filename)}: " if isinstance(error.filename, str) else ""
        note(f"{name}: {place}{printable(error.strerror or type(error).__name__)}")
        return Fault.exit_status
    except KeyboardInterrupt:
        note(f"{name}: interrupted")
        return _INTERRUPTED
    except Exception as error:
        if os.environ.get("INSPAN_DEBUG"):
            raise
        note(f"{name}: failed with {type(error).__name__}; this is a fault of the program.")
        note("  next: run it again with INSPAN_DEBUG=1, and report what it prints")
        return Fault.exit_status
    return status


def _for_app(hint: str, words: Sequence[str]) -> str:
    """A hint with the app that was named in place of APP, so that it can be run as it stands."""
    ref = words[0] if words else ""
    if not ref or ref.startswith("-") or ref in (*FRAMEWORK_VERBS, *OPERATE_VERBS, "help"):
        return hint
    return re.sub(r"\b(agent-app|a2app) APP\b", lambda found: f"{found[1]} {shlex.quote(ref)}", hint)


def _escaped(found: re.Match[str]) -> str:
    letter = found.group()
    match letter:
        case "\n":
            return "\\n"
        case "\t":
            return "\\t"
        case "\r":
            return "\\r"
        case _:
            code = ord(letter)
            return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def _json_escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"
