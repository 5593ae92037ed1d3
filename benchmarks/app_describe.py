"""How long does an app of 200 entities take to describe itself, level by level, and how long is what it says?"""

from __future__ import annotations

import http.client
import statistics

from .app_operation import Caller, open_server
from .app_server import TOKEN
from .figures import Figure, Target
from .scale import Scale

__all__ = ["PEERS", "run"]

PEERS: tuple[str, ...] = ()

_CALLS_A_ROUND = 200
_LEVELS = {
    "the root": "",
    "a module of twenty entities": "/module-1",
    "an entity": "/module-1/entity_1_1",
    "a record": "/board/cards/card",
    "a search": "?find=entity",
}


def run(scale: Scale) -> list[Figure]:
    """Asks for each level in turn; a round's value is the median of two hundred calls, from the outside."""
    calls = scale.count(_CALLS_A_ROUND, small=5)
    took: dict[str, list[float]] = {level: [] for level in _LEVELS}
    longest: list[float] = []
    with open_server() as port, Caller(port) as caller:
        for _ in range(scale.rounds):
            for level, path in _LEVELS.items():
                each = [caller.call_ms("GET", f"/api/_a2app/describe{path}") for _ in range(calls)]
                took[level].append(statistics.median(each))
            longest.append(max(_characters(port, path) for path in _LEVELS.values()))
    figures = [
        Figure(
            what=f"describing {level}, 200 entities in all",
            unit="ms",
            ours=took[level],
            target=Target(of="ours", bound="at most", limit=20),
        )
        for level in _LEVELS
    ]
    figures.append(
        Figure(
            what="the longest of these levels",
            unit="characters",
            ours=longest,
            target=Target(of="ours", bound="at most", limit=2000),
        )
    )
    return figures


def _characters(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", f"/api/_a2app/describe{path}", headers={"X-A2App-Token": TOKEN})
    text = connection.getresponse().read().decode()
    connection.close()
    return len(text)
