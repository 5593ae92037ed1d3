"""What makes a folder an app, and what keeps it from being one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inspan.apps.model.manifest import module_name_problem, new_app_id, read_app
from inspan.apps.model.verbs import OPERATE_VERBS
from inspan.model.errors import ManifestError, UsageError

GOOD: dict[str, Any] = {
    "id": "0123456789ab",
    "name": "Board",
    "agentAppVersion": "0.1.0",
    "adapterVersion": "0.1.0",
    "authMode": "none",
    "pipeline": {"install": "", "build": "", "start": "node dist/server.js", "health": "/api/_a2app"},
}


def write(folder: Path, **changes: Any) -> Path:
    (folder / "manifest.json").write_text(json.dumps({**GOOD, **changes}))
    return folder


@pytest.mark.requirement("P1")
def test_an_app_made_for_the_original_is_read_with_all_that_it_says(tmp_path: Path) -> None:
    write(
        tmp_path,
        appVersion="3",
        modificationLock=True,
        capabilities={"integrations": ["mail"]},
        modules=[{"name": "board", "summary": "Lists."}],
        port=8092,
        env="live",
        somethingNewer={"kept": True},
    )
    operation = {
        "name": "archive",
        "destructive": True,
        "module": "board",
        "params": {"before": {"type": "string", "format": "YYYY-MM-DD"}},
        "entity": "cards",
        "appliesWhen": {"field": "done", "eq": True},
    }
    (tmp_path / "operations.json").write_text(
        json.dumps({"operations": [operation, {"name": "old", "destructive": False}]})
    )
    (tmp_path / ".agent-token").write_text("a2app_secret\n")
    (tmp_path / ".agent-token").chmod(0o600)

    app = read_app(tmp_path)

    assert app.path == tmp_path
    assert app.manifest.app_version == "3"
    assert app.manifest.modification_lock
    assert app.manifest.capabilities.integrations == ("mail",)
    assert app.manifest.modules[0].summary == "Lists."
    assert (app.manifest.port, app.manifest.env) == (8092, "live")
    assert app.operations[0].params[0].day_key
    assert app.operations[0].applies_when == {"field": "done", "eq": True}
    assert (app.operations[1].name, app.operations[1].read_only) == ("old", None)
    assert app.token == "a2app_secret"
    assert app.warnings == ()


@pytest.mark.requirement("P1")
def test_the_least_manifest_has_the_port_8090_and_no_token(tmp_path: Path) -> None:
    app = read_app(write(tmp_path, port=None, env=None))

    assert app.manifest.port == 8090
    assert app.token is None
    assert app.operations == ()


def test_a_folder_without_a_manifest_is_no_app(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no app"):
        read_app(tmp_path)


@pytest.mark.requirement("P1")
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"id": 7}, "Expected `str`"),
        ({"id": " "}, '"id" is blank'),
        ({"name": "two\nlines"}, "control character"),
        ({"authMode": "single"}, "Invalid enum value"),
        ({"pipeline": {"install": "", "build": "", "start": ""}}, "health"),
        ({"pipeline": {"install": "", "build": "", "start": "", "health": "api"}}, "no path"),
        ({"port": 70000}, "no port"),
        ({"port": "8090"}, "Expected `int`"),
        ({"agentAppVersion": "0.2.0"}, "only versions 0.1"),
        ({"agentAppVersion": "1.0.0"}, "only versions 0.1"),
        ({"agentAppVersion": "newest"}, "is no version"),
        ({"modules": [{"name": "data"}]}, "reserved"),
        ({"modules": [{"name": "Board"}]}, "is not 1 to 32"),
        ({"modules": [{"name": "a"}, {"name": "a"}]}, "twice"),
    ],
)
def test_a_manifest_that_says_what_it_must_not_is_refused_with_its_file(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(ManifestError, match=said) as raised:
        read_app(write(tmp_path, **changes))

    assert raised.value.detail["file"] == str(tmp_path / "manifest.json")


@pytest.mark.parametrize("missing", sorted(GOOD))
def test_each_required_key_is_missed(tmp_path: Path, missing: str) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps({key: GOOD[key] for key in GOOD if key != missing}))

    with pytest.raises(ManifestError, match=missing):
        read_app(tmp_path)


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b'"text"', b"\xff\xfe{}", b'{"id": NaN}', b"[" * 100_000, b'{"id":' * 5000]
)
def test_a_file_that_is_no_json_object_is_refused_and_not_a_crash(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "manifest.json").write_bytes(data)

    with pytest.raises(ManifestError):
        read_app(tmp_path)


def test_every_problem_of_operations_json_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    listed: list[Any] = [
        7,
        {"destructive": True},
        {"name": "a", "destructive": "yes"},
        {"name": "b", "destructive": False, "params": {"x": {"type": "text"}, "y": 3}},
        {"name": "c", "destructive": False, "params": [], "readOnly": 1, "module": 2, "appliesWhen": "done"},
        {"name": "d", "destructive": False},
        {"name": "d", "destructive": False},
    ]
    (tmp_path / "operations.json").write_text(json.dumps({"operations": listed}))

    with pytest.raises(ManifestError) as raised:
        read_app(tmp_path)

    problems = raised.value.detail["problems"]
    for said in (
        "operations[0] is not an object",
        "operations[1] has no name",
        'operation "a" does not say "destructive"',
        'operation "b": the parameter "x" has the type',
        'operation "b": the parameter "y" is not described',
        'operation "c": params is not an object',
        'operation "c": readOnly',
        'operation "c": module',
        'operation "c": appliesWhen',
        '"d" is declared twice',
    ):
        assert any(said in problem for problem in problems), said


def test_a_token_that_others_can_read_is_used_and_warned_of(tmp_path: Path) -> None:
    (write(tmp_path) / ".agent-token").write_text("secret\n")
    (tmp_path / ".agent-token").chmod(0o644)

    app = read_app(tmp_path)

    assert app.token == "secret"
    assert "chmod 600" in app.warnings[0]


@pytest.mark.parametrize("text", ["", "\n", "one two\n", "one\ntwo\n"])
def test_a_token_file_without_exactly_one_token_holds_none(tmp_path: Path, text: str) -> None:
    (write(tmp_path) / ".agent-token").write_text(text)

    app = read_app(tmp_path)

    assert app.token is None
    assert "exactly one line" in app.warnings[0]


def test_the_token_is_in_no_picture_of_the_app(tmp_path: Path) -> None:
    (write(tmp_path) / ".agent-token").write_text("a2app_secret\n")

    assert "a2app_secret" not in repr(read_app(tmp_path))


def test_an_id_is_twelve_hexadecimal_characters() -> None:
    ids = {new_app_id() for _ in range(50)}

    assert len(ids) == 50
    assert all(len(one) == 12 and int(one, 16) >= 0 for one in ids)


@pytest.mark.parametrize("name", OPERATE_VERBS)
def test_a_reserved_word_is_no_module(name: str) -> None:
    assert "reserved" in (module_name_problem(name) or "")


def test_a_usual_name_is_a_module() -> None:
    assert module_name_problem("a") is None
    assert module_name_problem("a" + "-" * 31) is None
    assert module_name_problem("a" + "b" * 32) is not None
