"""What this machine knows of apps elsewhere: the credentials their owners gave out, and who answered at first.

An app on this machine has its credential in its own folder; none of this concerns it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import urlsplit

from .faults import Misused, Rejected
from .files import locked, read_json, write_json
from .registry import now_iso

__all__ = [
    "AUTH_TOKEN_VARIABLE",
    "TOKEN_VARIABLE",
    "Credential",
    "credential_for",
    "origin_of",
    "pin_identity",
    "slug_of",
]

TOKEN_VARIABLE = "A2APP_TOKEN"  # noqa: S105
AUTH_TOKEN_VARIABLE = "A2APP_AUTH_TOKEN"  # noqa: S105

_REFRESH_S = 3600.0


class Credential(NamedTuple):
    """How to speak to an app elsewhere; both parts may be missing.

    Attributes:
        token: The agent's credential.
        authorization: The user's own token, of a multi-user app.
    """

    token: str | None
    authorization: str | None

    def __repr__(self) -> str:
        return "Credential(…)"


def origin_of(url: str) -> str:
    """The origin of an http(s) URL, as the files name it: scheme, host in small letters, and a port that is not usual.

    Raises:
        Misused: It is no http(s) URL of a host, or names a user, a query or a fragment.
    """
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise Misused("This is no URL of an app.", hint="Give it as https://host[:port].") from None
    if (
        parts.scheme not in ("http", "https")
        or not host
        or parts.username is not None
        or parts.query
        or parts.fragment
    ):
        raise Misused(
            "This is no URL of an app.", hint="Give it as https://host[:port], without a user or a query."
        )
    if parts.path not in ("", "/"):
        raise Misused(
            "The URL of an app has no path.", hint="Give its origin alone, such as https://host:port."
        )
    shown = f"[{host}]" if ":" in host else host
    usual = {"http": 80, "https": 443}[parts.scheme]
    return f"{parts.scheme}://{shown}" + (f":{port}" if port is not None and port != usual else "")


def slug_of(origin: str) -> str:
    """The origin as the name of a folder."""
    return "".join(
        letter if (letter.isascii() and letter.isalnum()) or letter == "." else "-" for letter in origin
    )


def credential_for(
    home: Path,
    origin: str,
    app_id: str,
    *,
    environment: Mapping[str, str],
    warn: Callable[[str], None],
) -> Credential:
    """The credential for an app elsewhere: what the environment says, else what `credentials.json` says.

    A row that names another app's id does not count. A file that others could read is closed to them first.

    Raises:
        Rejected: The file cannot be read or has another form; nothing of its content is quoted.
    """
    row = _row_for(home / "credentials.json", origin, app_id, warn)
    return Credential(
        token=environment.get(TOKEN_VARIABLE, "").strip() or _text(row, "token"),
        authorization=environment.get(AUTH_TOKEN_VARIABLE, "").strip() or _text(row, "authToken"),
    )


def pin_identity(home: Path, origin: str, app_id: str) -> None:
    """Notes who answers at an origin, and insists that it stays the same app.

    Raises:
        Misused: Another app answered there before; no credential must be sent to this one.
        Rejected: `known-apps.json` cannot be read, written or understood.
    """
    path = home / "known-apps.json"
    known = _rows(path, "apps")
    row = next((one for one in known if one.get("origin") == origin), None)
    if row is not None:
        if row.get("appId") != app_id:
            raise Misused(
                f"{origin} answers as another app than before ({app_id}, and not {row.get('appId')}).",
                hint=f"If that is right, take the origin's row out of {path}.",
            )
        if time.time() - _time_s(row.get("lastSeen")) < _REFRESH_S:
            return
    try:
        with locked(home / ".known-apps.lock"):
            known = _rows(path, "apps")
            row = next((one for one in known if one.get("origin") == origin), None)
            if row is None:
                known.append(
                    {"origin": origin, "appId": app_id, "firstSeen": now_iso(), "lastSeen": now_iso()}
                )
            else:
                row["lastSeen"] = now_iso()
            write_json(path, {"version": 1, "apps": known})
    except OSError as error:
        raise Rejected(f"{path} cannot be written: {error.strerror or error}.") from error
    if row is not None and row.get("appId") != app_id:
        pin_identity(home, origin, app_id)  # somebody else pinned it in between, as another app


def _row_for(path: Path, origin: str, app_id: str, warn: Callable[[str], None]) -> dict[str, Any]:
    try:
        mode = path.stat().st_mode
        if mode & 0o077:
            path.chmod(0o600)
            warn(f"{path} could be read by others; its permissions are now 0600")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise Rejected(f"{path} cannot be closed to others: {error.strerror or error}.") from error
    for row in _rows(path, "credentials"):
        named: object = row.get("origin")
        if (
            isinstance(named, str)
            and named.rstrip("/").lower() == origin
            and row.get("appId") in (None, app_id)
        ):
            return row
    return {}


def _rows(path: Path, key: str) -> list[dict[str, Any]]:
    try:
        value = read_json(path)
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise Rejected(
            f"{path} cannot be read ({type(error).__name__}).", hint="Mend it or move it away."
        ) from None
    rows: object = cast("dict[str, object]", value).get(key) if isinstance(value, dict) else None
    if not isinstance(rows, list):
        raise Rejected(f"{path} has no list {key!r}.", hint="Mend it or move it away.")
    if not all(isinstance(one, dict) for one in cast("list[object]", rows)):
        raise Rejected(f"{path}: a row of {key!r} is no object.", hint="Mend it or move it away.")
    return cast("list[dict[str, Any]]", rows)


def _text(row: dict[str, Any], key: str) -> str | None:
    value: object = row.get(key)
    return value.strip() or None if isinstance(value, str) else None


def _time_s(value: object) -> float:
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except (ValueError, OverflowError):
        return 0.0
