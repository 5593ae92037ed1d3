"""`harnesses.json`: which harnesses an operator, or a plugin for them, wrote down, and how work reaches them.

The file is read strictly: a wrong value ends the command with the file and the path within it, and nothing is
guessed. Keys that nobody here knows are left alone, as they may be a newer version's.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, cast
from urllib.parse import urlsplit

import msgspec

from inspan.apps.faults import Rejected

from .routes import (
    MODES,
    GatewayRoute,
    HeadlessRoute,
    InboundRoute,
    Profile,
    Route,
    SeatRoute,
    SubscribeRoute,
)

__all__ = ["HarnessesFile", "is_loopback", "read_harnesses", "read_profile"]

LARGEST_FILE_BYTES = 1 << 20

_LEAST_TIMEOUT_MS = 1_000
_MISSING = ", and is missing"
_MOST_MS = 7 * 24 * 3600 * 1000

T = TypeVar("T")


class HarnessesFile(msgspec.Struct, frozen=True, kw_only=True):
    """What the file says.

    Attributes:
        path: The file.
        profiles: In its order; of two with one id, the later one in the place of the earlier.
        default: The id of the harness to take where nobody names one; empty where it does not say.
    """

    path: Path
    profiles: tuple[Profile, ...] = ()
    default: str = ""


def read_harnesses(path: Path) -> HarnessesFile | None:
    """The file at `path`; `None` where there is none.

    Raises:
        Rejected: It cannot be read, or something in it is wrong.
    """
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Rejected(f"{path} cannot be read: {error.strerror or error}.") from error
    if len(content) > LARGEST_FILE_BYTES:
        raise Rejected(f"{path} is over {LARGEST_FILE_BYTES} bytes.")
    try:
        table: Any = json.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise Rejected(f"{path} is no JSON ({error}). Correct it, or remove it.") from error
    return _read_file(_Place(path, ""), table)


def read_profile(path: Path, at: str, value: object) -> Profile:
    """One profile.

    Args:
        path: The file, for what is said of a fault.
        at: Where in it, likewise.
        value: What stands there.

    Raises:
        Rejected: Something in it is wrong.
    """
    return _profile(_Place(path, at), value)


def is_loopback(url: str) -> bool:
    """Whether `url` names this machine by an address that only this machine has. No name is looked up."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    if host.lower().rstrip(".") == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


class _Place:
    """A place in the file."""

    def __init__(self, file: Path, at: str) -> None:
        self.file = file
        self.at = at

    def __truediv__(self, key: str | int) -> _Place:
        step = f"[{key}]" if isinstance(key, int) else f".{key}" if self.at else key
        return _Place(self.file, f"{self.at}{step}")

    def wrong(self, problem: str) -> Rejected:
        where = f"{self.file}: {self.at}" if self.at else str(self.file)
        return Rejected(f"{where} {problem}.")


def _read_file(here: _Place, value: object) -> HarnessesFile:
    table = _object(here, value, what="must be an object")
    version = table.get("version", 1)
    if version != 1 or isinstance(version, bool):
        raise (here / "version").wrong("must be 1")
    default = ""
    if "default" in table:
        default = _text(here / "default", table["default"])
    entries = _array(here / "harnesses", table.get("harnesses", []))
    profiles: dict[str, Profile] = {}
    for index, entry in enumerate(entries):
        profile = _profile(here / "harnesses" / index, entry)
        profiles[profile.id] = profile
    return HarnessesFile(path=here.file, profiles=tuple(profiles.values()), default=default)


def _profile(here: _Place, value: object) -> Profile:
    table = _object(here, value)
    id_ = _text(here / "id", table.get("id"))
    name = _optional(table, "name", id_, lambda one: _text(here / "name", one))
    routes = _array(here / "routes", table.get("routes"))
    if not routes:
        raise (here / "routes").wrong("must have at least one route")
    return Profile(
        id=id_,
        name=name,
        routes=tuple(_route(here / "routes" / index, one) for index, one in enumerate(routes)),
    )


def _route(here: _Place, value: object) -> Route:
    table = _object(here, value)
    match table.get("mode"):
        case "inbound" if "seat" in table and "url" not in table:
            return SeatRoute(seat=_text(here / "seat", table["seat"]))
        case "inbound":
            return _inbound(here, table)
        case "headless":
            return _headless(here, table)
        case "gateway":
            return _gateway(here, table)
        case "subscribe":
            return SubscribeRoute(hint=_optional(table, "hint", "", lambda one: _string(here / "hint", one)))
        case other:
            modes = ", ".join(MODES)
            raise (here / "mode").wrong(f"must be one of {modes}, not {_shown(other)}")


def _inbound(here: _Place, table: Mapping[str, object]) -> InboundRoute:
    remote = _remote(here, table)
    return InboundRoute(
        url=_url(here / "url", table.get("url"), remote=remote),
        health=_optional(table, "health", "", lambda one: _url(here / "health", one, remote=remote)),
        allow_remote=remote,
        **_call(here, table),
    )


def _gateway(here: _Place, table: Mapping[str, object]) -> GatewayRoute:
    remote = _remote(here, table)
    return GatewayRoute(
        url=_url(here / "url", table.get("url"), remote=remote),
        start=_text(here / "start", table.get("start")),
        health=_url(here / "health", table.get("health"), remote=remote),
        ready_ms=_optional(table, "readyMs", 20_000, lambda one: _number(here / "readyMs", one, least=1)),
        env=_names(here, table),
        allow_remote=remote,
        **_call(here, table),
    )


def _call(here: _Place, table: Mapping[str, object]) -> dict[str, Any]:
    return {
        "method": _optional(table, "method", "POST", lambda one: _method(here / "method", one)),
        "headers": _optional(table, "headers", {}, lambda one: _headers(here / "headers", one)),
        "token_env": _optional(table, "tokenEnv", "", lambda one: _variable(here / "tokenEnv", one)),
    }


def _headless(here: _Place, table: Mapping[str, object]) -> HeadlessRoute:
    how: Literal["arg", "stdin"] = _optional(table, "input", "arg", lambda one: _input(here / "input", one))
    args = _strings(here / "args", table.get("args"))
    if how == "arg" and not any("{prompt}" in one for one in args):
        raise (here / "args").wrong('must have an element with {prompt}, or "input" must be "stdin"')
    return HeadlessRoute(
        command=_text(here / "command", table.get("command")),
        args=args,
        input=how,
        cwd=_optional(table, "cwd", "app", lambda one: _text(here / "cwd", one)),
        timeout_ms=_optional(
            table,
            "timeoutMs",
            None,
            lambda one: _number(here / "timeoutMs", one, least=_LEAST_TIMEOUT_MS),
        ),
        env=_names(here, table),
    )


def _names(here: _Place, table: Mapping[str, object]) -> tuple[str, ...]:
    place = here / "env"
    listed = _strings(place, table.get("env", []))
    return tuple(_variable(place / index, name, may_end_open=True) for index, name in enumerate(listed))


def _optional(table: Mapping[str, object], key: str, default: T, read: Callable[[object], T]) -> T:
    return read(table[key]) if key in table else default


def _object(here: _Place, value: object, *, what: str = "must be an object") -> Mapping[str, object]:
    if not isinstance(value, dict):
        raise here.wrong(what)
    return cast("dict[str, object]", value)


def _array(here: _Place, value: object) -> list[object]:
    if not isinstance(value, list):
        raise here.wrong("must be an array" + _MISSING * (value is None))
    return cast("list[object]", value)


def _string(here: _Place, value: object) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise here.wrong("must be a string")
    return value


def _text(here: _Place, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise here.wrong("must be a string that is not blank" + _MISSING * (value is None))
    return value


def _strings(here: _Place, value: object) -> tuple[str, ...]:
    return tuple(_string(here / index, one) for index, one in enumerate(_array(here, value)))


def _number(here: _Place, value: object, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= _MOST_MS:
        raise here.wrong(f"must be a whole number from {least} to {_MOST_MS}")
    return value


def _input(here: _Place, value: object) -> Literal["arg", "stdin"]:
    match value:
        case "arg":
            return "arg"
        case "stdin":
            return "stdin"
        case _:
            pass
    raise here.wrong('must be "arg" or "stdin"')


def _variable(here: _Place, value: object, *, may_end_open: bool = False) -> str:
    name = _text(here, value)
    plain = name[:-1] if may_end_open and name.endswith("*") else name
    if not plain.isascii() or not plain.isidentifier():
        raise here.wrong("must be the name of an environment variable")
    return name


def _method(here: _Place, value: object) -> str:
    name = _text(here, value).upper()
    if not (name.isascii() and name.isalpha()):
        raise here.wrong("must be an HTTP method")
    return name


def _headers(here: _Place, value: object) -> dict[str, str]:
    table = _object(here, value, what="must be an object of strings")
    for name, text in table.items():
        if not isinstance(text, str) or not name or any(one in name + text for one in "\r\n\0"):
            raise (here / name).wrong("must be a string of one line")
        if not (name.isascii() and all(one.isalnum() or one in "!#$%&'*+-.^_`|~" for one in name)):
            raise (here / name).wrong("must be the name of a header")
        if not text.isascii():
            raise (here / name).wrong("must be of ASCII alone")
    return cast("dict[str, str]", table)


def _remote(here: _Place, table: Mapping[str, object]) -> bool:
    value = table.get("allowRemote", False)
    if not isinstance(value, bool):
        raise (here / "allowRemote").wrong("must be true or false")
    return value


def _url(here: _Place, value: object, *, remote: bool) -> str:
    url = _text(here, value)
    try:
        parts = urlsplit(url)
        is_http = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_http = False
    if not is_http or not url.isascii() or any(one.isspace() or ord(one) < 33 for one in url):
        raise here.wrong("must be an http or https URL")
    if "@" in urlsplit(url).netloc:
        raise here.wrong("must not hold a name or a password; name a variable in tokenEnv")
    if not remote and not is_loopback(url):
        raise here.wrong('must name a loopback address, or "allowRemote" must be true')
    return url


def _shown(value: object) -> str:
    return json.dumps(value)[:60] if isinstance(value, str | int | float | bool | None) else "that"
