"""Requests about a terminal that are wrong in any way: answered, with no harm to anybody."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inspan.holder import HolderSpec, this_process
from inspan.holder.program import PROTOCOL
from inspan.holder.program.frames import FrameDecoder, encode_json
from support.holders import Launches, connect, scenario
from support.terminals import ECHO_RAW, SIZE, follow, start_in_terminal

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 70_000),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(max_size=8),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)

REQUESTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["keys", "answer", "resize", "foreground", "status", "close_stdin"])},
    optional={"data": ODD, "offset": ODD, "columns": ODD, "rows": ODD},
)


async def ask(spec: HolderSpec, requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Send requests as an owner that may say anything; the answers, in their order."""
    reader, writer = await asyncio.open_unix_connection(str(spec.socket))
    owner = msgspec.to_builtins(this_process())
    hello = {"type": "hello", "protocol": PROTOCOL, "nonce": spec.nonce, "owner": owner}
    writer.write(encode_json(hello))
    for ident, request in enumerate(requests):
        writer.write(encode_json({**request, "id": ident}))
    decoder, found = FrameDecoder(), list[dict[str, Any]]()
    while len(found) < len(requests) + 1:
        data = await reader.read(65536)
        assert data, "the holder has closed"
        found += [json.loads(body) for _, body in decoder.feed(data)]
    writer.close()
    await writer.wait_closed()
    assert found[0]["type"] == "welcome"
    assert [one["id"] for one in found[1:]] == list(range(len(requests)))
    return found[1:]


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"type": "keys"}, "request_invalid"),
        ({"type": "keys", "data": "not base64!"}, "request_invalid"),
        ({"type": "keys", "data": "é"}, "request_invalid"),
        ({"type": "keys", "data": ["QQ=="]}, "request_invalid"),
        ({"type": "answer", "data": ""}, "request_invalid"),
        ({"type": "answer", "offset": -1, "data": ""}, "request_invalid"),
        ({"type": "answer", "offset": 10**6, "data": ""}, "offset_ahead"),
        ({"type": "resize", "columns": 80}, "request_invalid"),
        ({"type": "resize", "columns": "80", "rows": 24}, "request_invalid"),
        ({"type": "resize", "columns": True, "rows": 24}, "request_invalid"),
        ({"type": "resize", "columns": 0, "rows": 24}, "size_invalid"),
        ({"type": "resize", "columns": 80, "rows": 70_000}, "size_invalid"),
        ({"type": "close_stdin"}, "terminal_endless"),
    ],
)
@scenario
async def test_a_request_about_a_terminal_that_is_wrong_is_refused_with_its_reason(
    launches: Launches, request_: dict[str, Any], code: str
) -> None:
    spec = await launches.start("cat", terminal=SIZE)
    (answer, state) = await ask(spec, [request_, {"type": "status"}])
    assert (answer["type"], answer["code"]) == ("error", code)
    assert (state["answered_offset"], state["terminal"]) == (0, {"columns": 80, "rows": 24})


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(batches=st.lists(st.lists(REQUESTS, max_size=40), min_size=1, max_size=3))
def test_whatever_is_asked_is_answered_in_order_and_the_terminal_goes_on(
    batches: list[list[dict[str, Any]]],
) -> None:
    @scenario
    async def check(launches: Launches) -> None:
        spec = await start_in_terminal(launches, ECHO_RAW)
        async with await connect(spec) as connection:
            await (await follow(connection)).saw(b"ready ")
        for batch in batches:
            for answer in await ask(spec, batch):
                assert answer["type"] in ("reply", "error")
        async with await connect(spec) as connection:
            assert (await connection.write(1, b"the end.")).outcome == "done"
            await (await follow(connection)).saw(b"the end.")
            assert (await connection.foreground()).is_harness

    launches = Launches()
    try:
        check(launches)
    finally:
        asyncio.run(launches.stop_all())
