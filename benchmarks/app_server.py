"""An app for the benchmarks: `python -m benchmarks.app_server FOLDER PORT`.

Its operations are served twice by one server: through the protocol, and under `/bare/NAME`, where the same function
is called with the body's arguments and nothing else is done.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from inspan.apps.author import App, flag, number, ref, text
from inspan.apps.server.asgi import Application, Receive, Scope, Send
from inspan.apps.server.caller import Grant
from inspan.apps.server.rates import RateLimits
from inspan.apps.server.running import run

__all__ = ["ENTITIES", "TOKEN", "make_app"]

TOKEN = "a2app_benchmark"  # noqa: S105 - a name that everybody may know

ENTITIES = 200
"""How many entities the app has, in ten modules."""

_NO_LIMIT = RateLimits(data=10**9, ops=10**9)


def make_app(folder: Path) -> tuple[App, dict[str, Callable[..., Any]]]:
    """The app, and its operations' functions by name."""
    app = App(
        "Benchmark",
        folder=folder,
        limits=_NO_LIMIT,
        grants=[Grant(token=TOKEN, credential_id="cred", agent_name="benchmark")],
    )
    module = app.module("board", "What is measured.")
    cards = module.entity(
        "cards",
        {"title": text(required=True, max=200), "done": flag(), "count": number()},
        seed=[{"id": "card", "title": "A card"}],
    )

    @cards.operation(params={"card": ref("cards", required=True)}, read_only=True)
    def look(card: str) -> object:
        """Read one card."""
        return cards.get(card)

    @module.operation(params={"title": text(required=True, max=200)})
    def add(title: str) -> object:
        """Write one card."""
        return cards.create({"title": title})

    for number_of in range(10):
        other = app.module(f"module-{number_of}", "One of ten modules of twenty entities each.")
        for one in range((ENTITIES - 1) // 10 + (number_of > 0)):
            name = f"entity_{number_of}_{one}"
            fields = {
                "title": text(required=True, max=200),
                "note": text(),
                "done": flag(),
                "count": number(),
            }
            other.entity(name, fields, summary="One of two hundred entities, with a summary of its own.")
    return app, {"look": look, "add": add}


class _Bare:
    """The functions without the protocol."""

    def __init__(self, functions: dict[str, Callable[..., Any]]) -> None:
        self._functions = functions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = scope["path"].rpartition("/")[2]
        body = (await receive()).get("body", b"")
        result = self._functions[name](**msgspec.json.decode(body))
        data = msgspec.json.encode({"ok": True, "result": result})
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(data)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": data})


if __name__ == "__main__":
    served, by_name = make_app(Path(sys.argv[1]))
    run(Application(served.served, _Bare(by_name)), port=int(sys.argv[2]))
