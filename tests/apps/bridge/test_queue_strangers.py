"""The queue of an app whose port another program takes, at any moment of a delivery."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from inspan.apps.bridge.line import AppLine
from inspan.apps.bridge.queue import Claim, Queue, QueueTrouble
from inspan.apps.bridge.tasks import read_task
from inspan.apps.folder import open_folder
from support.apps.bridge_ground import TOKEN, write_app
from support.apps.programs import answering, home_for_test, read_request

TASK: dict[str, Any] = {
    "id": "tsk_1",
    "status": "working",
    "claim": {"claimedAt": "first"},
    "request": {"capability": "c", "payload": {}},
}
APP = {"a2app": True, "app": {"id": "d0d0d0d0d0d0", "name": "Desk"}}


class Occupant:
    """Whoever listens on the port: first the app, then a stranger to whom every task is unknown."""

    def __init__(self) -> None:
        self.is_app = True
        self.heard: list[bytes] = []

    def answer(self, one: socket.socket) -> None:
        while data := read_request(one):
            self.heard.append(data)
            asks_who = b"GET /api/_a2app HTTP" in data
            answer = APP if asks_who else TASK
            status, body = (200, json.dumps(answer)) if self.is_app else (404, "{}")
            head = f"HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            one.sendall((head + body).encode())


USES: list[Callable[[Queue, Claim], object]] = [
    lambda queue, _: queue.waiting(),
    lambda queue, claim: queue.claim(claim.task),
    lambda queue, claim: queue.look(claim),
    lambda queue, claim: queue.keep(claim, step="one"),
    lambda queue, claim: queue.fail(claim, "agent_exited", result={}),
]


@pytest.mark.requirement("P30", "P33")
@pytest.mark.parametrize("use", USES, ids=["waiting", "claim", "look", "keep", "fail"])
def test_whoever_takes_the_port_of_an_app_sees_no_credential_and_takes_no_claim(
    use: Callable[[Queue, Claim], object],
) -> None:
    occupant = Occupant()
    with home_for_test() as home, answering(occupant.answer) as port:
        write_app(home / "app", port)
        with closing(AppLine(open_folder(home / "app"))) as line:
            queue, task = Queue(line), read_task(TASK)
            line.renew()
            assert task is not None
            claim = queue.claim(task)
            assert claim is not None
            assert any(TOKEN.encode() in one for one in occupant.heard)
            occupant.is_app = False
            occupant.heard.clear()
            with pytest.raises(QueueTrouble, match="somebody else"):
                use(queue, claim)
    assert occupant.heard
    assert not any(TOKEN.encode() in one for one in occupant.heard)
