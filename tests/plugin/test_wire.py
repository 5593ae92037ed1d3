"""The plugin wire: lines whole or not at all, a cap for whoever sends, one error mapping."""

from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.model.errors import HarnessError, PluginError
from inspan.plugin import Refused, Unsupported
from inspan.plugin.wire import (
    METHOD_NOT_FOUND,
    FrameTooLarge,
    LineDecoder,
    Message,
    RpcError,
    encode_message,
    error_of_answer,
    rpc_error,
)

LINE = st.binary(min_size=1, max_size=40).filter(lambda line: b"\n" not in line and line.strip())


@given(lines=st.lists(LINE), cuts=st.lists(st.integers(0, 2000)))
def test_lines_come_out_whole_however_the_bytes_are_cut(lines: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(line + b"\n" for line in lines)
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    decoder = LineDecoder()

    found = [line for a, b in pairwise(places) for line in decoder.feed(stream[a:b])]

    assert found == lines


@pytest.mark.requirement("H-H5")
@pytest.mark.parametrize(
    "pieces", [[b"x" * 11 + b"\n"], [b"x" * 11], [b"x" * 6, b"x" * 5], [b"a\n", b"x" * 11]]
)
def test_a_line_over_the_cap_is_refused_complete_or_not(pieces: list[bytes]) -> None:
    decoder = LineDecoder(cap_bytes=10)

    *first, last = pieces
    for piece in first:
        decoder.feed(piece)
    with pytest.raises(FrameTooLarge):
        decoder.feed(last)


def test_a_line_of_just_the_cap_is_taken() -> None:
    assert LineDecoder(cap_bytes=10).feed(b"x" * 10 + b"\n") == [b"x" * 10]


def test_blank_lines_are_dropped() -> None:
    assert LineDecoder().feed(b"\n \n{}\r\n") == [b"{}\r"]


def test_a_message_names_its_version_of_json_rpc() -> None:
    line = encode_message(Message(id=1, method="probe", params=msgspec.Raw(b"{}")))

    assert msgspec.json.decode(line) == {"jsonrpc": "2.0", "id": 1, "method": "probe", "params": {}}


@pytest.mark.parametrize(
    "error",
    [
        PluginError("Missing.", code="plugin_missing", hint="Install it.", detail={"file": "x"}),
        HarnessError("Not here.", code="not_installed", retry_safe=False),
    ],
)
def test_an_error_crosses_the_wire_unchanged(error: PluginError | HarnessError) -> None:
    back = error_of_answer(rpc_error(error), subject="The plugin")

    assert type(back) is type(error)
    assert (back.code, back.message, back.hint) == (error.code, error.message, error.hint)
    assert (back.detail, back.retry_safe) == (error.detail, error.retry_safe)


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (Unsupported("no such thing"), "unsupported_capability"),
        (Refused("not now"), "plugin_refused"),
        (ValueError("bug"), "plugin_failed"),
    ],
)
def test_what_a_plugin_raises_has_one_code(raised: Exception, code: str) -> None:
    assert rpc_error(raised).data["code"] == code
    assert error_of_answer(rpc_error(raised), subject="The plugin").code == code


def test_an_answer_of_a_plugin_that_knows_no_codes_is_still_typed() -> None:
    unknown = error_of_answer(RpcError(code=METHOD_NOT_FOUND, message="no"), subject="The plugin")
    other = error_of_answer(RpcError(code=-32603, message="oops"), subject="The plugin")

    assert unknown.code == "unsupported_capability"
    assert (other.code, other.retry_safe) == ("plugin_failed", False)
    assert "oops" in other.message
