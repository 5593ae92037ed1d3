"""Serving a folder of files as a page: read at each request, so that what an author changes is seen at once."""

from __future__ import annotations

import mimetypes
from importlib import resources
from pathlib import Path
from urllib.parse import unquote_to_bytes

from inspan.apps.server.asgi import Receive, Scope, Send

__all__ = ["PageFiles", "default_page"]

_INDEX = "index.html"
_LARGEST_BYTES = 64 * 1024 * 1024
_SECURITY = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-cache"),
)
# A page of another site must not show this one in a frame and have a person click in it; a program on this machine
# that shows apps side by side may.
_FRAMES = "frame-ancestors 'self' http://localhost:* http://127.0.0.1:*"
_STRICT = f"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; {_FRAMES}"


class PageFiles:
    """An ASGI app that answers GET with the files of a folder, and with `index.html` for a path without a suffix."""

    def __init__(self, folder: Path, *, is_strict: bool = False) -> None:
        """Serves `folder`; a strict page runs no script but its own files."""
        self._folder = folder.resolve()
        self._policy = (_STRICT if is_strict else _FRAMES).encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if scope["method"] not in ("GET", "HEAD"):
            await _answer(send, 405, b"text/plain", b"A page is read with GET.\n", self._policy)
            return
        path = self._find(scope.get("raw_path") or scope["path"].encode())
        if path is None:
            await _answer(send, 404, b"text/plain", b"There is no such page.\n", self._policy)
            return
        kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        if kind.startswith("text/") or kind.endswith(("javascript", "json")):
            kind += "; charset=utf-8"
        await _answer(send, 200, kind.encode(), path.read_bytes(), self._policy)

    def _find(self, raw: bytes) -> Path | None:
        """The file under a path: inside the folder, and nothing that is hidden."""
        try:
            parts = [unquote_to_bytes(part).decode() for part in raw.split(b"?", 1)[0].split(b"/") if part]
        except UnicodeDecodeError:
            return None
        if any(part.startswith(".") or "/" in part or "\\" in part or "\0" in part for part in parts):
            return None
        found = self._folder.joinpath(*parts)
        if not parts or (not found.is_file() and not Path(parts[-1]).suffix):
            found = self._folder / _INDEX
        found = found.resolve()
        if (
            not found.is_relative_to(self._folder)
            or not found.is_file()
            or found.stat().st_size > _LARGEST_BYTES
        ):
            return None
        return found


def default_page() -> PageFiles:
    """The page that suits every app: lists, forms, details and what happens meanwhile."""
    return PageFiles(Path(str(resources.files("inspan.apps.page"))) / "site", is_strict=True)


async def _answer(send: Send, status: int, kind: bytes, body: bytes, policy: bytes) -> None:
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"content-security-policy", policy),
        *_SECURITY,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
