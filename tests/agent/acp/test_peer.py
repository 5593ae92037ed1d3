"""The JSON-RPC conversation below ACP: what is no message, what is asked twice, cancelled, or never answered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from inspan.agent.acp.peer import LONGEST_LINE_BYTES, Params, Peer, PeerGone, RpcError


class Ground:
    """A peer, and what it wrote."""

    def __init__(self) -> None:
        self.out: list[dict[str, Any]] = []
        self.wrote = asyncio.Condition()
        self.reader = asyncio.StreamReader(limit=LONGEST_LINE_BYTES)
        self.begun = asyncio.Event()
        self.noticed: list[Params] = []
        self.is_broken = False
        self.peer = Peer(
            self.reader,
            self._write,
            requests={"say": self._say, "wait": self._wait, "fail": self._fail, "raise": self._raise},
            notices={"note": self.noticed.append},
        )

    async def _write(self, line: bytes) -> None:
        if self.is_broken:
            raise BrokenPipeError
        async with self.wrote:
            self.out.append(json.loads(line))
            self.wrote.notify_all()

    async def _say(self, params: Params) -> Any:
        await asyncio.sleep(0)
        return params

    async def _wait(self, _: Params) -> Any:
        self.begun.set()
        await asyncio.Event().wait()

    async def _fail(self, _: Params) -> Any:
        raise RpcError(7, "no", {"why": "so"})

    async def _raise(self, _: Params) -> Any:
        raise KeyError("a-secret")

    def say(self, *messages: object) -> None:
        for message in messages:
            self.reader.feed_data(
                (message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n"
            )

    async def written(self, count: int) -> list[dict[str, Any]]:
        async with self.wrote:
            await self.wrote.wait_for(lambda: len(self.out) >= count)
        return self.out


def on_ground(story: Callable[[Ground], Awaitable[None]]) -> None:
    async def run() -> None:
        ground = Ground()
        serving = asyncio.create_task(ground.peer.serve())
        async with asyncio.timeout(30):
            await story(ground)
            ground.reader.feed_eof()
            await serving

    asyncio.run(run())


def request(method: str, id: object = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def test_requests_are_answered_and_failures_carry_no_secret() -> None:
    async def story(ground: Ground) -> None:
        ground.say(request("say", "a", x=1), request("fail", 2), request("raise", 3), request("nothing", 4))
        out = {one["id"]: one for one in await ground.written(4)}
        assert out["a"]["result"] == {"x": 1}
        assert out[2]["error"] == {"code": 7, "message": "no", "data": {"why": "so"}}
        assert out[3]["error"]["code"] == -32603
        assert "KeyError" in out[3]["error"]["message"]
        assert "a-secret" not in json.dumps(out)
        assert out[4]["error"]["code"] == -32601

    on_ground(story)


def test_what_is_no_message_is_said_and_what_is_no_request_is_taken() -> None:
    async def story(ground: Ground) -> None:
        ground.say(
            b"chatter",
            b"[1]",
            b"\xff\xfe",
            b"",
            {"jsonrpc": "2.0", "id": None, "method": "say"},
            {"jsonrpc": "2.0", "method": "note", "params": {"y": 2}},
            {"jsonrpc": "2.0", "method": "unknown notice"},
            {"jsonrpc": "2.0", "id": 99, "result": "of nobody's question"},
            request("say", 5, z=3),
        )
        out = await ground.written(5)
        assert [one["error"]["code"] for one in out[:4]] == [-32700, -32600, -32700, -32600]
        assert out[4] == {"jsonrpc": "2.0", "id": 5, "result": {"z": 3}}
        assert ground.noticed == [{"y": 2}]

    on_ground(story)


def test_a_line_over_the_limit_is_refused_and_the_next_is_read() -> None:
    async def story(ground: Ground) -> None:
        ground.reader.feed_data(b"x" * (LONGEST_LINE_BYTES + 2) + b"\n")
        ground.say(request("say", 6))
        out = await ground.written(2)
        assert [one.get("id") for one in out] == [None, 6]

    on_ground(story)


def test_a_request_is_cancelled_by_its_id_and_its_id_is_taken_meanwhile() -> None:
    async def story(ground: Ground) -> None:
        ground.say(request("wait", "w"))
        await ground.begun.wait()
        ground.say(request("say", "w"), {"method": "$/cancel_request", "params": {"requestId": "w"}})
        out = await ground.written(2)
        assert [one["error"]["code"] for one in out] == [-32600, -32800]
        ground.say(request("say", "w"))
        assert (await ground.written(3))[2]["result"] == {}

    on_ground(story)


def test_a_question_of_ours_is_answered_refused_or_left_when_the_other_side_goes() -> None:
    async def story(ground: Ground) -> None:
        asking = asyncio.create_task(ground.peer.ask("session/request_permission", {"q": 1}))
        (asked,) = await ground.written(1)
        ground.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"ok": True}})
        assert await asking == {"ok": True}
        asking = asyncio.create_task(ground.peer.ask("m", {}))
        asked = (await ground.written(2))[1]
        ground.say({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -1, "message": "never"}})
        with pytest.raises(RpcError, match="never"):
            await asking
        asking = asyncio.create_task(ground.peer.ask("m", {}))
        asked = (await ground.written(3))[2]
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        withdrawn = (await ground.written(4))[3]
        assert (withdrawn["method"], withdrawn["params"]) == ("$/cancel_request", {"requestId": asked["id"]})
        left = asyncio.create_task(ground.peer.ask("m", {}))
        await ground.written(5)
        ground.reader.feed_eof()
        with pytest.raises(PeerGone):
            await left

    on_ground(story)


def test_a_question_that_cannot_be_written_any_more_waits_for_nobody() -> None:
    async def story(ground: Ground) -> None:
        before = asyncio.create_task(ground.peer.ask("m", {}))
        await ground.written(1)
        ground.is_broken = True
        for question in (asyncio.create_task(ground.peer.ask("m", {})), before):
            with pytest.raises(PeerGone):
                await question

    on_ground(story)
