"""Runs checks against an app at an address, and says of each whether it held and why not."""

from __future__ import annotations

import http.client
import json
import re
import secrets
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from .suite import Check, CheckClass, CliCall, Expected, Request

__all__ = ["Outcome", "Target", "problems_of", "run_class"]

_WAIT_S = 15.0
_CLI_WAIT_S = 60.0
_LARGEST_BYTES = 8 * 1024 * 1024
_MISSING = object()


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """What is checked.

    Attributes:
        url: The app's address, such as `http://127.0.0.1:8090`.
        tokens: Tokens by the names that checks use: `full` and `readonly`.
        app_dir: The app's folder, for calls of the program.
        a2app: The operate program as argv; empty where there is none, and its checks are skipped.
    """

    url: str
    tokens: Mapping[str, str]
    app_dir: Path | None = None
    a2app: tuple[str, ...] = ()


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one check.

    Attributes:
        name: Its name.
        status: Whether it held; `skipped` where it needs a program that was not given.
        problems: What did not hold, one line each.
    """

    name: str
    status: Literal["passed", "failed", "skipped"]
    problems: tuple[str, ...] = ()


class _Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came back: a status or an exit status, and the text."""

    number: int
    text: str

    @property
    def value(self) -> Any:
        try:
            return json.loads(self.text)
        except ValueError:
            return None


def run_class(checks: CheckClass, target: Target) -> list[Outcome]:
    """Runs the checks of a class in their order, and gives an outcome for each."""
    saved: dict[str, str] = {"run": secrets.token_hex(6)}
    for request in checks.before:
        try:
            _send(request, target, saved)
        except (OSError, http.client.HTTPException):
            break
    return [_run(check, target, saved) for check in checks.checks]


def problems_of(expect: Expected, number: int, text: str) -> list[str]:
    """What is not as expected of an answer, one line each; `number` is its status, or a program's exit status."""
    return _problems(expect, _Answer(number=number, text=text), {})


def _run(check: Check, target: Target, saved: dict[str, str]) -> Outcome:
    try:
        if check.request is not None:
            answer = _send(check.request, target, saved)
        elif check.cli is not None and target.a2app and target.app_dir is not None:
            answer = _call(check.cli, target, saved)
        else:
            return Outcome(name=check.name, status="skipped", problems=("no operate program was given",))
        problems = _problems(check.expect, answer, saved)
    except (OSError, http.client.HTTPException, subprocess.TimeoutExpired, _Unsaved) as error:
        return Outcome(name=check.name, status="failed", problems=(f"{type(error).__name__}: {error}",))
    if problems:
        return Outcome(name=check.name, status="failed", problems=tuple(problems))
    for name, path in check.expect.save.items():
        saved[name] = str(_at(answer.value, path))
    return Outcome(name=check.name, status="passed")


class _Unsaved(Exception):
    """A check needs what an earlier one did not save."""


def _send(request: Request, target: Target, saved: Mapping[str, str]) -> _Answer:
    parts = urlsplit(target.url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=_WAIT_S)
    headers = {"Content-Type": "application/json", "X-A2App-Agent": "conformance"}
    token = target.tokens.get(request.token, "" if request.token == "none" else request.token)  # noqa: S105 - a word
    if token:
        headers["X-A2App-Token"] = token
    if request.origin:
        headers["Origin"] = request.origin
    if request.auth:
        headers["Authorization"] = request.auth
    headers |= {name: _filled(value, saved) for name, value in request.headers.items()}
    path = parts.path.rstrip("/") + quote(_filled(request.path, saved), safe="/")
    if request.query:
        path += "?" + urlencode(request.query)
    body = None if request.body is None else _filled(json.dumps(request.body), saved).encode()
    try:
        connection.request(request.method, path, body=body, headers=headers)
        response = connection.getresponse()
        return _Answer(number=response.status, text=response.read(_LARGEST_BYTES).decode(errors="replace"))
    finally:
        connection.close()


def _call(cli: CliCall, target: Target, saved: Mapping[str, str]) -> _Answer:
    args = [str(target.app_dir) if arg == "<APPDIR>" else _filled(arg, saved) for arg in cli.args]
    done = subprocess.run(
        [*target.a2app, *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=_CLI_WAIT_S,
        check=False,
    )
    return _Answer(
        number=done.returncode,
        text=done.stdout.decode(errors="replace") or done.stderr.decode(errors="replace"),
    )


def _problems(expect: Expected, answer: _Answer, saved: Mapping[str, str]) -> list[str]:
    """What is not as expected, one line each."""
    problems: list[str] = []
    value = answer.value
    for kind, wanted in (("status", expect.status), ("exit status", expect.exit)):
        if wanted is not None and answer.number != wanted:
            problems.append(f"the {kind} is {answer.number}, not {wanted}")
    for path, wanted in expect.match.items():
        filled = _filled(wanted, saved) if isinstance(wanted, str) else wanted
        found = _at(value, path)
        if not _same(found, filled):
            problems.append(f"{path} is {_shown(found)}, not {_shown(filled)}")
    problems += [f"{path} is missing" for path in expect.has if _at(value, path) in (_MISSING, None)]
    problems += [f"{path} is there" for path in expect.absent if _at(value, path) not in (_MISSING, None)]
    for path, wanted in expect.len.items():
        found = _at(value, path)
        count = len(cast("Sequence[object]", found)) if isinstance(found, list) else None
        if count != wanted:
            problems.append(f"{path} holds {count}, not {wanted}")
    if expect.contains and expect.contains not in answer.text:
        problems.append(f"the answer does not contain {expect.contains!r}")
    if expect.max_chars is not None and len(answer.text) > expect.max_chars:
        problems.append(f"the answer has {len(answer.text)} characters, over {expect.max_chars}")
    return problems


def _same(found: object, wanted: object) -> bool:
    """Whether two JSON values are the same; true and 1 are not."""
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    return found == wanted


def _at(value: Any, path: str) -> Any:
    """What is at a dotted path; `_MISSING` where nothing is."""
    for part in path.split("."):
        if isinstance(value, dict):
            value = cast("dict[str, Any]", value).get(part, _MISSING)
        elif isinstance(value, list) and part.isdigit():
            listed = cast("list[Any]", value)
            value = listed[int(part)] if int(part) < len(listed) else _MISSING
        else:
            return _MISSING
    return value


def _filled(text: str, saved: Mapping[str, str]) -> str:
    def fill(match: re.Match[str]) -> str:
        if match[1] not in saved:
            raise _Unsaved(f"an earlier check did not save {match[1]}")
        return saved[match[1]]

    return re.sub(r"\$\{(\w+)\}", fill, text)


def _shown(value: object) -> str:
    return "missing" if value is _MISSING else json.dumps(value, ensure_ascii=False)[:120]
