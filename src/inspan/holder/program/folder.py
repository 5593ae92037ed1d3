"""The launch's folder: what to start, who claimed it, and files written so that half of one is never seen."""

from __future__ import annotations

import contextlib
import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["claim_launch", "is_private", "now", "read_record", "redact_launch", "write_file", "write_record"]


def write_file(path: str, content: bytes, *, fresh: bool = False) -> None:
    """Write a 0600 file atomically. With `fresh`, raise FileExistsError if there is one: the first wins."""
    temporary = f"{path}.{os.getpid()}.new"
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            view = memoryview(content)
            while view:
                view = view[os.write(handle, view) :]
        finally:
            os.close(handle)
        if fresh:
            os.link(temporary, path)
        else:
            os.rename(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            os.unlink(temporary)


def write_record(directory: str, name: str, value: dict[str, Any], *, fresh: bool = False) -> None:
    """Write `value` as the JSON file `name`, as `write_file` does."""
    write_file(os.path.join(directory, name), json.dumps(value).encode(), fresh=fresh)


def read_record(directory: str, name: str) -> dict[str, Any] | None:
    """The JSON object in the file `name`, or None where there is no such file.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not a JSON object.
    """
    try:
        with open(os.path.join(directory, name), "rb") as file:
            value: object = json.load(file)
    except FileNotFoundError:
        return None
    except RecursionError:
        raise ValueError(f"{name} is nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError(f"{name} is not a JSON object")  # noqa: TRY004 - the file is wrong, not the caller
    return value  # pyright: ignore[reportUnknownVariableType]


def claim_launch(directory: str, content: str) -> bool:
    """Claim a launch, once and for ever: either its holder does, or who declares it abandoned."""
    try:
        write_file(os.path.join(directory, "claim"), f"{content}\n".encode(), fresh=True)
    except FileExistsError:
        return False
    return True


def redact_launch(directory: str) -> None:
    """Take the secrets out of `launch.json`; without room for a clean copy, remove it."""
    try:
        value = read_record(directory, "launch.json")
        if value is None:
            return
        write_record(directory, "launch.json", {k: v for k, v in value.items() if k not in ("env", "nonce")})
    except (OSError, ValueError):
        with contextlib.suppress(OSError):
            os.unlink(os.path.join(directory, "launch.json"))


def is_private(folder: str) -> bool:
    """Whether `folder` belongs to this user and nobody else may enter it; raises OSError if it is missing."""
    found = os.stat(folder)
    return found.st_mode & 0o077 == 0 and found.st_uid == os.geteuid()


def now() -> str:
    """The time, as RFC 3339 in UTC with microseconds."""
    seconds, nanoseconds = divmod(time.time_ns(), 1_000_000_000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{nanoseconds // 1000:06d}Z"
