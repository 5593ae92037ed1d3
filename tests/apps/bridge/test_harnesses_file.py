"""`harnesses.json`: read strictly, and every fault with the file and its place in it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.apps.bridge.harnesses_file import HarnessesFile, is_loopback, read_harnesses, read_profile
from inspan.apps.bridge.routes import GatewayRoute, HeadlessRoute, InboundRoute, SeatRoute, SubscribeRoute
from inspan.apps.faults import Rejected

LOCAL = "http://127.0.0.1:9000/work"
HEADLESS: dict[str, Any] = {"mode": "headless", "command": "acme", "args": ["-p", "{prompt}"]}
GATEWAY: dict[str, Any] = {
    "mode": "gateway",
    "url": LOCAL,
    "start": "acme up",
    "health": "http://localhost:9/up",
}


def written(folder: Path, *routes: object, **top: object) -> Path:
    file = folder / "harnesses.json"
    entry = {"id": "acme", "routes": list(routes)}
    file.write_text(json.dumps({"version": 1, "harnesses": [entry], **top}), encoding="utf-8")
    return file


def read(file: Path) -> HarnessesFile:
    found = read_harnesses(file)
    assert found is not None
    return found


@pytest.mark.requirement("P27")
def test_each_kind_of_route_is_read_with_its_defaults(tmp_path: Path) -> None:
    routes = (
        {"mode": "inbound", "url": LOCAL, "tokenEnv": "ACME_TOKEN", "headers": {"X-From": "app"}},
        HEADLESS,
        GATEWAY,
        {"mode": "subscribe", "hint": "listen"},
        {"mode": "inbound", "seat": "writer"},
    )
    found = read(written(tmp_path, *routes, default="acme", later="unknown keys stay unread"))
    assert found.default == "acme"
    (profile,) = found.profiles
    assert (profile.id, profile.name) == ("acme", "acme")
    assert profile.routes == (
        InboundRoute(url=LOCAL, token_env="ACME_TOKEN", headers={"X-From": "app"}),
        HeadlessRoute(command="acme", args=("-p", "{prompt}")),
        GatewayRoute(url=LOCAL, start="acme up", health="http://localhost:9/up"),
        SubscribeRoute(hint="listen"),
        SeatRoute(seat="writer"),
    )


def test_without_a_file_there_is_nothing_and_no_fault(tmp_path: Path) -> None:
    assert read_harnesses(tmp_path / "harnesses.json") is None


def test_of_two_entries_with_one_id_the_later_one_counts(tmp_path: Path) -> None:
    entries = [{"id": "acme", "name": name, "routes": [HEADLESS]} for name in ("first", "last")]
    file = tmp_path / "harnesses.json"
    file.write_text(json.dumps({"version": 1, "harnesses": entries}), encoding="utf-8")
    assert [one.name for one in read(file).profiles] == ["last"]


@pytest.mark.requirement("P27")
def test_a_key_that_is_missing_is_said_to_be(tmp_path: Path) -> None:
    for route, at in (
        ({"mode": "headless", "command": "x", "input": "stdin"}, "args must be an array"),
        ({"mode": "headless", "args": ["{prompt}"]}, "command must be a string that is not blank"),
    ):
        file = tmp_path / "harnesses.json"
        file.write_text(json.dumps({"version": 1, "harnesses": [{"id": "x", "routes": [route]}]}))
        with pytest.raises(Rejected, match=rf"routes\[0\]\.{at}, and is missing\.$"):
            read(file)


@pytest.mark.requirement("P27")
@pytest.mark.parametrize(
    ("route", "at"),
    [
        ({"mode": "carrier-pigeon"}, "harnesses[0].routes[0].mode"),
        ({"mode": ["headless"]}, "harnesses[0].routes[0].mode"),
        ("headless", "harnesses[0].routes[0]"),
        (HEADLESS | {"args": ["-p"]}, "harnesses[0].routes[0].args"),
        (HEADLESS | {"args": "-p {prompt}"}, "harnesses[0].routes[0].args"),
        (HEADLESS | {"args": ["{prompt}", 3]}, "harnesses[0].routes[0].args[1]"),
        (HEADLESS | {"command": " "}, "harnesses[0].routes[0].command"),
        (HEADLESS | {"input": "file"}, "harnesses[0].routes[0].input"),
        (HEADLESS | {"timeoutMs": 10}, "harnesses[0].routes[0].timeoutMs"),
        (HEADLESS | {"timeoutMs": True}, "harnesses[0].routes[0].timeoutMs"),
        (HEADLESS | {"env": ["A B"]}, "harnesses[0].routes[0].env[0]"),
        (HEADLESS | {"env": ["*"]}, "harnesses[0].routes[0].env[0]"),
        ({"mode": "inbound"}, "harnesses[0].routes[0].url"),
        ({"mode": "inbound", "url": "file:///etc/passwd"}, "harnesses[0].routes[0].url"),
        ({"mode": "inbound", "url": "http://u:p@localhost/"}, "harnesses[0].routes[0].url"),
        (
            {"mode": "inbound", "url": LOCAL, "tokenEnv": "a secret, not a name"},
            "harnesses[0].routes[0].tokenEnv",
        ),
        ({"mode": "inbound", "url": LOCAL, "headers": {"X": 1}}, "harnesses[0].routes[0].headers.X"),
        (
            {"mode": "inbound", "url": LOCAL, "headers": {"X": "a\r\nY: b"}},
            "harnesses[0].routes[0].headers.X",
        ),
        ({"mode": "inbound", "url": LOCAL, "allowRemote": "yes"}, "harnesses[0].routes[0].allowRemote"),
        ({"mode": "inbound", "url": LOCAL, "health": "localhost"}, "harnesses[0].routes[0].health"),
        (GATEWAY | {"health": None}, "harnesses[0].routes[0].health"),
        (GATEWAY | {"readyMs": 0}, "harnesses[0].routes[0].readyMs"),
        (GATEWAY | {"start": 1}, "harnesses[0].routes[0].start"),
    ],
)
def test_a_route_that_is_wrong_in_one_way_is_refused_with_file_and_place(
    tmp_path: Path, route: object, at: str
) -> None:
    file = written(tmp_path, route)
    with pytest.raises(Rejected) as caught:
        read_harnesses(file)
    assert re.match(rf"{re.escape(str(file))}: {re.escape(at)} must ", caught.value.message)
    assert caught.value.exit_status == 1


@pytest.mark.requirement("P27")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "is no JSON"),
        ("[]", "must be an object"),
        ('{"version": 2, "harnesses": []}', "version must be 1"),
        ('{"version": 1, "harnesses": {}}', "harnesses must be an array"),
        ('{"version": 1, "harnesses": [{"routes": []}]}', "harnesses[0].id must"),
        ('{"version": 1, "harnesses": [{"id": "a", "routes": []}]}', "harnesses[0].routes must"),
        ('{"version": 1, "default": 3, "harnesses": []}', "default must"),
        ("[" * 100_000, "is no JSON"),
        ("\ud800", "is no JSON"),
    ],
)
def test_a_file_that_is_wrong_as_a_whole_is_refused(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "harnesses.json"
    file.write_text(text, encoding="utf-8", errors="surrogatepass")
    with pytest.raises(Rejected) as caught:
        read_harnesses(file)
    assert caught.value.message.startswith(str(file))
    assert says in caught.value.message


@pytest.mark.requirement("P33")
@pytest.mark.parametrize(
    "url",
    [
        "http://192.0.2.7/x",
        "https://example.com/x",
        "http://0.0.0.0/x",
        "http://localhost.example/x",
        "http://[::]/",
    ],
)
def test_an_address_of_another_machine_needs_leave(tmp_path: Path, url: str) -> None:
    for route in (
        {"mode": "inbound", "url": url},
        {"mode": "inbound", "url": LOCAL, "health": url},
        GATEWAY | {"url": url},
        GATEWAY | {"health": url},
    ):
        with pytest.raises(Rejected, match="allowRemote"):
            read_harnesses(written(tmp_path, route))
        read(written(tmp_path, {**route, "allowRemote": True}))


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.8.9.10", "localhost", "LOCALHOST.", "[::1]", "[::ffff:127.0.0.1]"]
)
def test_a_loopback_address_is_known_by_its_number_or_as_localhost(host: str) -> None:
    assert is_loopback(f"http://{host}:80/")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = (
    "mode",
    "url",
    "health",
    "method",
    "headers",
    "tokenEnv",
    "allowRemote",
    "command",
    "args",
    "input",
    "cwd",
)


@given(
    st.dictionaries(st.sampled_from([*KEYS, "timeoutMs", "start", "readyMs", "hint", "seat", "env"]), JSON)
    | st.fixed_dictionaries(
        {"mode": st.sampled_from(["inbound", "headless", "gateway", "subscribe"])},
        optional=dict.fromkeys(KEYS[1:], JSON),
    )
)
def test_whatever_a_route_holds_it_is_read_or_refused_with_its_place(route: dict[str, Any]) -> None:
    said = "/h.json: harnesses[3].routes[0]"
    try:
        read_profile(Path("/h.json"), "harnesses[3]", {"id": "x", "routes": [route]})
    except Rejected as fault:
        said = fault.message
    assert said.startswith("/h.json: harnesses[3].routes[0]")
