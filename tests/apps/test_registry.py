"""The index of apps: several programs change it at once, it points and never decides, and it survives damage."""

import contextlib
import json
import random
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from inspan.apps.faults import Rejected
from inspan.apps.files import write_json
from inspan.apps.folder import open_folder
from inspan.apps.ports import FIRST_PORT, is_listening, who_answers
from inspan.apps.registry import Registry, a2app_home
from support.apps.programs import (
    a2app,
    agent_app,
    answering,
    board,
    find_program,
    free_port,
    home_for_test,
    programs_at_once,
)


@pytest.fixture
def ground() -> Iterator[Path]:
    with home_for_test() as folder:
        yield folder


def _app(folder: Path, **given: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "manifest.json", {"id": folder.name, "name": folder.name.title(), **given})
    return folder


def _registry(ground: Path) -> tuple[Registry, list[str]]:
    warned: list[str] = []
    return Registry(ground / "home", warn=warned.append), warned


@pytest.mark.parametrize(
    ("value", "home"),
    [
        ("", Path("/persons/.a2app")),
        ("  ", Path("/persons/.a2app")),
        ("rel/x", Path.cwd() / "rel" / "x"),
        ("/a/../b", Path("/b")),
    ],
)
@pytest.mark.requirement("P9")
def test_a_blank_home_counts_as_unset_and_a_relative_one_is_made_absolute(
    value: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/persons")
    monkeypatch.setenv("A2APP_HOME", value)
    assert a2app_home() == home


@pytest.mark.requirement("P9")
def test_a_row_holds_what_the_format_has_and_rows_are_sorted(ground: Path) -> None:
    registry, _ = _registry(ground)
    for name in ("zoo", "ant"):
        registry.register(open_folder(_app(ground / name, port=9000)), blueprint="python")
    registry.register(open_folder(ground / "zoo"))
    value = json.loads((ground / "home" / "registry.json").read_text())
    assert value["version"] == 1
    assert [list(row) for row in value["apps"]] == [
        ["id", "name", "path", "port", "blueprint", "createdAt"]
    ] * 2
    assert [row["path"] for row in value["apps"]] == [str(ground / "ant"), str(ground / "zoo")]
    assert [row.blueprint for row in registry.list()] == ["python", "python"]
    assert stat.S_IMODE((ground / "home" / "registry.json").stat().st_mode) == 0o600


def test_what_somebody_else_wrote_into_a_row_stays(ground: Path) -> None:
    registry, _ = _registry(ground)
    row = {"id": "x", "name": "X", "path": str(ground / "x"), "note": "mine"}
    write_json(ground / "home" / "registry.json", {"version": 1, "apps": [row]})
    registry.register(open_folder(_app(ground / "x")))
    [kept] = json.loads((ground / "home" / "registry.json").read_text())["apps"]
    assert kept["note"] == "mine"


@pytest.mark.requirement("P9")
def test_programs_that_make_apps_at_once_all_get_a_row_and_a_port_of_their_own(ground: Path) -> None:
    program = find_program("agent-app")
    done = list(programs_at_once([[program, str(ground / f"app{n}"), "scaffold"] for n in range(6)]))
    assert [one.returncode for one in done] == [0] * 6, [one.stderr for one in done]
    registry, warned = _registry(ground)
    rows = registry.list()
    assert [row.path.name for row in rows] == [f"app{n}" for n in range(6)]
    ports = [json.loads(one.stdout)["port"] for one in done]
    assert len(set(ports)) == 6
    assert sorted(ports) == sorted(row.port or 0 for row in rows)
    assert min(ports) >= FIRST_PORT
    assert warned == []
    assert sorted(path.name for path in (ground / "home").iterdir()) == ["registry.json"]


@pytest.mark.requirement("P9")
def test_programs_that_are_killed_at_any_moment_leave_an_index_that_works(ground: Path) -> None:
    program, chance = find_program("agent-app"), random.Random(5)
    making = [
        subprocess.Popen(
            [program, str(ground / f"app{n}"), "scaffold"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for n in range(10)
    ]
    for one in chance.sample(making, 6):
        with contextlib.suppress(subprocess.TimeoutExpired):
            one.wait(chance.uniform(0.05, 0.6))
        one.kill()
    made = [json.loads(out)["dir"] for out, _ in (one.communicate(timeout=60) for one in making) if out]
    done = agent_app(str(ground / "last"), "scaffold")
    assert done.status == 0, done.err
    registry, warned = _registry(ground)
    rows = registry.list()
    assert warned == []
    assert {Path(one) for one in made} <= {row.path for row in rows}
    assert len({row.port for row in rows}) == len(rows)
    whole = {row.path for row in rows if row.folder() is not None}
    agent_app("list", "--prune")
    assert {row.path for row in registry.list()} == whole


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"{not json", id="no JSON"),
        pytest.param(b"", id="empty"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"version": 1}', id="no rows"),
        pytest.param(b'{"version": 1, "apps": {}}', id="rows that are no list"),
        pytest.param(b'{"version": 1, "apps": [1]}', id="a row that is none"),
        pytest.param(
            b'{"version": 1, "apps": [{"id": "x", "name": "X", "path": "rel"}]}', id="a relative path"
        ),
        pytest.param(
            b'{"version": 1, "apps": [{"id": 1, "name": "X", "path": "/x"}]}', id="an id that is no text"
        ),
    ],
)
@pytest.mark.requirement("P9")
def test_a_damaged_index_is_put_aside_and_said_so(ground: Path, content: bytes) -> None:
    path = ground / "home" / "registry.json"
    path.parent.mkdir()
    path.write_bytes(content)
    registry, warned = _registry(ground)
    assert registry.list() == []
    [aside] = path.parent.glob("registry.json.corrupt-*")
    assert aside.read_bytes() == content
    assert aside.name in warned[0]
    registry.register(open_folder(_app(ground / "x")))
    assert [row.id for row in registry.list()] == ["x"]


def test_rows_of_a_damaged_index_that_are_whole_are_kept(ground: Path) -> None:
    good = {"id": "x", "name": "X", "path": str(ground / "x"), "port": 8123}
    write_json(ground / "home" / "registry.json", {"version": 1, "apps": [good, {"id": 3}]})
    registry, warned = _registry(ground)
    assert [row.port for row in registry.list()] == [8123]
    assert len(warned) == 2
    assert len(list((ground / "home").glob("registry.json.corrupt-*"))) == 1


def test_an_index_of_a_later_version_is_left_exactly_as_it_is(ground: Path) -> None:
    path = ground / "home" / "registry.json"
    path.parent.mkdir()
    path.write_text('{"version": 2, "things": []}')
    registry, _ = _registry(ground)
    for act in (registry.list, lambda: registry.register(open_folder(_app(ground / "x")))):
        with pytest.raises(Rejected, match="later version"):
            act()
    assert path.read_text() == '{"version": 2, "things": []}'


def test_a_damaged_index_that_cannot_be_put_aside_is_an_error_and_never_overwritten(
    ground: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = ground / "home" / "registry.json"
    path.parent.mkdir()
    path.write_text("{")
    registry, _ = _registry(ground)
    app = open_folder(_app(ground / "x"))

    def refuse(*_: object) -> None:
        raise PermissionError(1, "not permitted")

    monkeypatch.setattr(
        "inspan.apps.registry.os.rename", refuse
    )  # nothing is forbidden to root, who may run this
    for act in (registry.list, lambda: registry.register(app)):
        with pytest.raises(Rejected, match="cannot be renamed"):
            act()
    assert path.read_text() == "{"


def test_the_manifest_wins_over_the_index(ground: Path) -> None:
    registry, _ = _registry(ground)
    registry.register(open_folder(_app(ground / "x", port=9001)))
    _app(ground / "x", id="new-id", name="Renamed", port=9002)
    assert [row.path for row in registry.find("new-id")] == [ground / "x"]
    assert [row.path for row in registry.find("Renamed")] == [ground / "x"]
    assert registry.find("x") == []
    [app] = agent_app("list", "--json").json["apps"]
    assert (app["id"], app["name"], app["port"]) == ("new-id", "Renamed", 9002)


def test_two_apps_with_one_id_or_name_are_not_guessed_between(ground: Path) -> None:
    registry, _ = _registry(ground)
    for name in ("one", "two"):
        registry.register(open_folder(_app(ground / name, id="same", name="Same")))
    for ref in ("same", "Same"):
        for done in (a2app(ref), agent_app(ref, "stop")):
            assert done.status == 2
            assert str(ground / "one") in done.err
            assert str(ground / "two") in done.err
    assert agent_app(str(ground / "one"), "stop").status == 0


def test_a_port_that_another_app_has_or_somebody_listens_on_is_not_given_out(ground: Path) -> None:
    registry, warned = _registry(ground)
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        taken = held.getsockname()[1]
        given = registry.claim_port("a", "A", ground / "a", preferred=taken)
    assert given != taken
    assert str(taken) in warned[0]
    again = registry.claim_port("b", "B", ground / "b", preferred=given)
    assert again != given
    assert registry.claim_port("a", "A", ground / "a", preferred=given) != again


def test_a_port_that_only_a_manifest_names_counts_as_given_out(ground: Path) -> None:
    registry, warned = _registry(ground)
    port = free_port()
    registry.register(open_folder(_app(ground / "x")))
    _app(ground / "x", port=port)
    assert registry.claim_port("y", "Y", ground / "y", preferred=port) != port
    assert len(warned) == 1


@pytest.mark.requirement("P9")
def test_a_list_says_which_apps_run_are_stopped_unreachable_or_missing(ground: Path) -> None:
    registry, _ = _registry(ground)
    with board(ground) as one, answering(lambda _: None) as stranger:
        registry.register(open_folder(one.folder))
        registry.register(open_folder(_app(ground / "other", port=one.served.port)))
        registry.register(open_folder(_app(ground / "strange", port=stranger)))
        registry.register(open_folder(_app(ground / "still", port=free_port())))
        registry.register(open_folder(_app(ground / "gone")))
        (ground / "gone" / "manifest.json").unlink()
        found = {app["id"]: app for app in agent_app("list", "--json").json["apps"]}
        text = agent_app("list").out
    assert {name: app["status"] for name, app in found.items()} == {
        "conformance_kanban": "running",
        "other": "unreachable",
        "strange": "unreachable",
        "still": "stopped",
        "gone": "missing",
    }
    assert found["conformance_kanban"]["url"] == one.served.url
    assert found["still"]["url"] is None
    assert len(text.splitlines()) == 5


@pytest.mark.requirement("P9")
def test_prune_forgets_the_missing_and_forget_only_the_row(ground: Path) -> None:
    registry, _ = _registry(ground)
    registry.register(open_folder(_app(ground / "here", port=free_port())))
    registry.register(open_folder(_app(ground / "gone")))
    (ground / "gone" / "manifest.json").unlink()
    done = agent_app("list", "--json", "--prune").json
    assert done["pruned"] == [str(ground / "gone")]
    assert [app["id"] for app in done["apps"]] == ["here"]
    assert agent_app("here", "forget").json["forgotten"] is True
    assert agent_app(str(ground / "here"), "forget").json["forgotten"] is False
    assert (ground / "here" / "manifest.json").exists()
    assert registry.list() == []


def test_a_missing_app_can_be_named_to_be_forgotten_and_is_said_to_be_gone(ground: Path) -> None:
    registry, _ = _registry(ground)
    registry.register(open_folder(_app(ground / "gone")))
    (ground / "gone" / "manifest.json").unlink()
    done = a2app("gone")
    assert done.status == 2
    assert "forget" in done.err
    assert agent_app("gone", "forget").json["forgotten"] is True


def test_who_holds_a_port_is_told_apart(ground: Path) -> None:
    with board(ground) as one:
        assert who_answers(one.served.port).app_id == "conformance_kanban"
    with answering(lambda _: None) as stranger:
        assert who_answers(stranger, timeout_s=0.2).kind == "stranger"
        assert is_listening(stranger)
    assert who_answers(free_port()).kind == "nobody"
    for odd in (0, -1, 70000):
        assert who_answers(odd).kind == "nobody"


def test_an_app_in_the_list_cannot_drive_the_terminal(ground: Path) -> None:
    registry, _ = _registry(ground)
    registry.register(open_folder(_app(ground / "x", name="A\x1b[31m\x9bB\nrunning fake", port=free_port())))
    done = agent_app("list")
    assert "\x1b" not in done.out
    assert "\x9b" not in done.out
    assert len(done.out.splitlines()) == 1
    raw = agent_app("list", "--json")
    assert "\x9b" not in raw.out
    assert raw.json["apps"][0]["name"] == "A\x1b[31m\x9bB\nrunning fake"
