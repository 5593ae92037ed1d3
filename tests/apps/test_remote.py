"""Apps elsewhere: who answered first stays who it is, and a credential is shown to that app alone."""

import json
import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inspan.apps.conformance.reference import FULL_TOKEN, READONLY_TOKEN
from inspan.apps.credentials import Credential, credential_for, origin_of, pin_identity, slug_of
from inspan.apps.faults import Misused, Rejected
from inspan.apps.files import write_json
from support.apps.programs import (
    Board,
    a2app,
    agent_app,
    answering,
    board,
    free_port,
    home_for_test,
    read_request,
)


@pytest.fixture
def elsewhere() -> Iterator[Board]:
    with home_for_test() as folder, board(folder) as one:
        yield one


def _home() -> Path:
    return Path(os.environ["A2APP_HOME"])


def _credentials(*rows: dict[str, object]) -> Path:
    path = _home() / "credentials.json"
    write_json(path, {"version": 1, "credentials": list(rows)})
    return path


def _identity(app_id: str, heard: list[bytes]) -> Callable[[socket.socket], None]:
    body = json.dumps(
        {"a2app": True, "app": {"id": app_id, "name": "X"}, "schemaVersion": "1", "level": "root"}
    ).encode()

    def speak(one: socket.socket) -> None:
        while data := read_request(one):
            heard.append(data)
            one.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)

    return speak


@pytest.mark.requirement("P10")
def test_a_url_is_an_app_to_operate_and_none_to_manage(elsewhere: Board) -> None:
    url = elsewhere.served.url
    assert a2app(url).status == 0
    assert a2app(url + "/", "data", "lists", "list").json["items"][0]["id"] == "list_todo"
    assert a2app(url, "whoami").json["credentialId"] == "anonymous"
    done = agent_app(url, "stop")
    assert (done.status, done.out) == (2, "")


@pytest.mark.requirement("P10")
def test_the_credential_for_an_origin_is_used_and_the_environment_wins(
    elsewhere: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = elsewhere.served.url
    _credentials({"origin": url, "token": READONLY_TOKEN})
    assert a2app(url, "whoami").json["credentialId"] == "cred_ro"
    assert a2app(url, "data", "cards", "create", "--title", "x").status == 1
    monkeypatch.setenv("A2APP_TOKEN", FULL_TOKEN)
    assert a2app(url, "whoami").json["credentialId"] == "cred_full"
    assert a2app(url, "data", "cards", "create", "--title", "x").status == 0
    # An app in a folder has its own credential, whatever stands in the environment.
    monkeypatch.setenv("A2APP_TOKEN", READONLY_TOKEN)
    assert a2app(elsewhere.ref, "whoami").json["credentialId"] == "cred_full"


@pytest.mark.requirement("P10")
def test_who_answered_first_is_noted_and_another_app_is_refused_before_it_sees_a_credential() -> None:
    heard: list[bytes] = []
    with home_for_test(), answering(_identity("impostor", heard)) as port:
        origin = f"http://127.0.0.1:{port}"
        pin_identity(_home(), origin, "the-real-one")
        _credentials({"origin": origin, "token": "s3cret"})
        done = a2app(origin, "whoami")
        assert done.status == 2
        assert "the-real-one" in done.err
        assert heard
        assert not any(b"s3cret" in one for one in heard)


@pytest.mark.requirement("P10")
def test_the_first_identity_of_an_origin_is_kept_in_a_file_of_ones_own(elsewhere: Board) -> None:
    for _ in range(2):
        assert a2app(elsewhere.served.url, "identity").status == 0
    path = _home() / "known-apps.json"
    value = json.loads(path.read_text())
    [row] = value["apps"]
    assert value["version"] == 1
    assert (row["origin"], row["appId"]) == (elsewhere.served.url, "conformance_kanban")
    assert row["firstSeen"] == row["lastSeen"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_when_an_app_was_last_seen_is_brought_up_to_date_now_and_then(elsewhere: Board) -> None:
    path = _home() / "known-apps.json"
    then = "2020-01-01T00:00:00.000Z"
    row = {"origin": elsewhere.served.url, "appId": "conformance_kanban", "firstSeen": then, "lastSeen": then}
    write_json(path, {"version": 1, "apps": [row]})
    assert a2app(elsewhere.served.url, "identity").status == 0
    [row] = json.loads(path.read_text())["apps"]
    assert row["firstSeen"] == then
    assert row["lastSeen"] > "2026"


def test_a_credential_file_that_others_can_read_is_closed_to_them_and_said_so(elsewhere: Board) -> None:
    path = _credentials({"origin": elsewhere.served.url, "token": FULL_TOKEN})
    path.chmod(0o644)
    done = a2app(elsewhere.served.url, "whoami")
    assert done.status == 0
    assert "0600" in done.err
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "warning" not in a2app(elsewhere.served.url, "whoami").err


def test_a_credential_for_another_app_at_the_same_origin_is_not_used(elsewhere: Board) -> None:
    _credentials({"origin": elsewhere.served.url, "appId": "another", "token": FULL_TOKEN})
    assert a2app(elsewhere.served.url, "whoami").json["credentialId"] == "anonymous"


@pytest.mark.parametrize("content", ["{", "[]", '{"credentials": {}}', '{"credentials": [1]}', "s3cret"])
def test_a_credential_file_that_cannot_be_understood_is_an_error_that_quotes_none_of_it(
    elsewhere: Board, content: str
) -> None:
    path = _home() / "credentials.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    path.chmod(0o600)
    done = a2app(elsewhere.served.url, "whoami")
    assert done.status == 1
    assert "credentials.json" in done.err
    assert "s3cret" not in done.err
    assert path.read_text() == content


def test_an_app_elsewhere_that_is_away_or_none_is_unreachable() -> None:
    heard: list[bytes] = []
    with home_for_test(), answering(_identity("", heard)) as port:
        assert a2app(f"http://127.0.0.1:{port}").status == 3
        assert a2app(f"http://127.0.0.1:{free_port()}").status == 3


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("HTTPS://Example.COM", "https://example.com"),
        ("https://example.com:443/", "https://example.com"),
        ("http://example.com:8090", "http://example.com:8090"),
        ("http://[::1]:8090", "http://[::1]:8090"),
    ],
)
def test_an_origin_is_written_in_one_way(url: str, origin: str) -> None:
    assert origin_of(url) == origin
    assert "/" not in slug_of(origin)


@pytest.mark.parametrize(
    "url",
    ["https://", "https://u:p@h", "https://h/path", "https://h?x=1", "https://h#f", "ftp://h", "http://h:x"],
)
def test_what_is_more_or_less_than_an_origin_is_refused(url: str) -> None:
    with pytest.raises(Misused):
        origin_of(url)
    if url.startswith("http"):
        with home_for_test():
            assert a2app(url).status == 2


def test_a_credential_is_never_shown_by_accident() -> None:
    assert "s3cret" not in repr(Credential("s3cret", "s3cret"))


def test_blank_variables_count_as_unset() -> None:
    with home_for_test():
        _credentials({"origin": "https://h", "token": " t ", "authToken": ""})
        found = credential_for(_home(), "https://h", "x", environment={"A2APP_TOKEN": " "}, warn=pytest.fail)
        assert (found.token, found.authorization) == ("t", None)


def test_known_apps_that_cannot_be_understood_stop_the_call_and_stay_as_they_are(elsewhere: Board) -> None:
    path = _home() / "known-apps.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text("{")
    with pytest.raises(Rejected):
        pin_identity(_home(), "https://h", "x")
    assert a2app(elsewhere.served.url).status == 1
    assert path.read_text() == "{"
