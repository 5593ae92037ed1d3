"""Write docs/errors.md from `inspan.model.errors`: every code, whose it is to act, and how each surface shows it.

python tools/render_errors.py [--check] [PAGE]
"""

import argparse
import inspect
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from inspan.cli.exits import exit_of_error
from inspan.daemon.failures import status_of
from inspan.model import errors
from inspan.model.errors import ERROR_CODES, InspanError

__all__ = ["groups_of_codes", "main", "render"]

PAGE = Path(__file__).resolve().parent.parent / "docs" / "errors.md"

_OPENING = """\
# Errors

<!-- Made by `python tools/render_errors.py`; a test fails where it is stale. -->

Every error has a stable code. It is the same in Python (`error.code`), over HTTP, in `--json` and in the log.
An error says three things more: the fact (`message`), the next step (`hint`), and whether the same call may be
made again without a risk that its effect happens twice (`retry_safe`). `detail` holds further values, such as
the file and the key of a fault in a manifest. Secrets are never among them.

```json
{"error": {"code": "unknown_seat", "group": "usage", "message": "There is no seat 'review'.",
           "hint": "`inspan seat list` shows the seats.", "retry_safe": true, "detail": {"seat": "review"}}}
```

Codes are grouped by who must act. *Exit* is the exit status of the command line ([all of them](cli.md)), *HTTP*
the status of the daemon's answer ([the interface](http-api.md)). The same codes stand in the error of a delivery,
a launch or a turn that went wrong; there they are part of a record, and `inspan run` and `inspan send --wait` end
with the status of the turn's outcome instead.
"""


def groups_of_codes() -> dict[type[InspanError], list[str]]:
    """Every code below the class that raises it, in the order of the source: a comment there heads each group.

    Raises:
        ValueError: A code stands under no heading, or a heading names no class of errors.
    """
    source = inspect.getsource(errors)
    table = source[source.index("ERROR_CODES: ") : source.index("\n}\n")]
    groups: dict[type[InspanError], list[str]] = {}
    codes: list[str] | None = None
    for heading, code in re.findall(r'^    (?:# (\w+)$|"(\w+)": )', table, re.MULTILINE):
        if heading:
            group = getattr(errors, heading, None)
            if not (isinstance(group, type) and issubclass(group, InspanError)):
                raise ValueError(f"the heading {heading!r} names no class of errors")
            codes = groups.setdefault(group, [])
        elif codes is None:
            raise ValueError(f"{code!r} stands under no heading")
        else:
            codes.append(code)
    if [code for group in groups.values() for code in group] != list(ERROR_CODES):
        raise ValueError("the codes that were read are not those of ERROR_CODES")
    return groups


def render() -> str:
    """The whole page as Markdown."""
    parts = [_OPENING]
    for group, codes in groups_of_codes().items():
        first = (group.__doc__ or "").strip().splitlines()[0]
        parts.append(
            f"## `{group.__name__}`\n\n{first}\n\n| code | meaning | exit | HTTP |\n|---|---|---|---|"
        )
        parts += [_row(group("", code=code)) for code in codes]
        parts.append("")
    return "\n".join(parts)


def main(argv: Sequence[str] | None = None) -> int:
    """Write the page, or with `--check` only say whether it is fresh: 0 where it is, 1 where it is stale."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the page is stale")
    parser.add_argument("page", type=Path, nargs="?", default=PAGE)
    options = parser.parse_args(argv)
    page: Path = options.page
    text = render()
    if not options.check:
        page.write_text(text, encoding="utf-8")
    elif not page.exists() or page.read_text(encoding="utf-8") != text:
        print(f"{page} is stale: run `python tools/render_errors.py`", file=sys.stderr)
        return 1
    return 0


def _row(error: InspanError) -> str:
    return (
        f"| `{error.code}` | {ERROR_CODES[error.code]} | {int(exit_of_error(error))} | {status_of(error)} |"
    )


if __name__ == "__main__":
    raise SystemExit(main())
