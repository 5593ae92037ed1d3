"""`inspan app connect`: the tools in each harness's own file, by its manifest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from inspan.apps.bindings import binding_names
from inspan.apps.connecting import connect, disconnect, show_connection
from inspan.cli.main import main
from inspan.host.registry import HarnessRegistry
from inspan.model.errors import UsageError
from inspan.model.manifest import Manifest

_REGISTRY = HarnessRegistry(Path("/nonexistent"))
_ALL = [entry.manifest for entry in _REGISTRY.list() if entry.manifest is not None]
_WITH = [manifest for manifest in _ALL if manifest.mcp is not None]
_WITHOUT = [manifest for manifest in _ALL if manifest.mcp is None]


@pytest.mark.requirement("P16")
@pytest.mark.parametrize("manifest", _WITH, ids=lambda one: one.id)
def test_every_harness_with_a_place_is_told_once_and_told_no_more(
    manifest: Manifest, throwaway_home: Path
) -> None:
    environ = {"HOME": str(throwaway_home)}
    assert show_connection(manifest, environ).state == "absent"
    made = connect(manifest, environ)
    assert (made.state, made.is_changed) == ("connected", True)
    assert Path(made.path).is_relative_to(throwaway_home)
    before = Path(made.path).read_bytes()
    again = connect(manifest, environ)
    assert (again.state, again.is_changed) == ("connected", False)
    assert Path(made.path).read_bytes() == before
    assert "inspan.apps.mcp" in before.decode()
    gone = disconnect(manifest, environ)
    assert (gone.state, gone.is_changed) == ("absent", True)
    assert "inspan" not in Path(made.path).read_text()


@pytest.mark.parametrize("manifest", _WITHOUT, ids=lambda one: one.id)
def test_a_harness_without_a_place_is_refused_with_what_to_do(manifest: Manifest) -> None:
    assert show_connection(manifest, os.environ).state == "no_place"
    with pytest.raises(UsageError) as refused:
        connect(manifest, os.environ)
    assert refused.value.code == "mcp_unsupported"
    has_binding = manifest.id in binding_names()
    assert (f"inspan app binding {manifest.id}" in refused.value.hint) == has_binding
    assert has_binding or "inspan app connect" in refused.value.hint


def test_a_folder_that_its_variable_names_is_used(throwaway_home: Path) -> None:
    moved = [manifest for manifest in _WITH if manifest.mcp and manifest.mcp.moved_path]
    assert moved
    for manifest in moved:
        environ = {"HOME": str(throwaway_home), manifest.config.variable: str(throwaway_home / "else")}
        assert Path(connect(manifest, environ).path).parent == throwaway_home / "else"


@pytest.mark.requirement("P16")
def test_what_the_entry_starts_is_the_server(throwaway_home: Path) -> None:
    manifest = next(one for one in _WITH if one.mcp and one.mcp.under == ("mcpServers",))
    document = json.loads(Path(connect(manifest, {"HOME": str(throwaway_home)}).path).read_text())
    (server,) = document["mcpServers"].values()
    ping = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}) + "\n"
    done = subprocess.run(
        [server["command"], *server["args"]],
        input=ping,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert json.loads(done.stdout)["result"] == {}
    assert server["command"] == sys.executable


@pytest.mark.parametrize("text", ["no json", "[]", '{"mcpServers": 1}'])
def test_an_unparsable_file_is_left_byte_for_byte(text: str, throwaway_home: Path) -> None:
    manifest = next(one for one in _WITH if one.mcp and one.mcp.format == "json" and len(one.mcp.under) == 1)
    assert manifest.mcp is not None
    environ = {"HOME": str(throwaway_home)}
    path = Path(show_connection(manifest, environ).path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace("mcpServers", manifest.mcp.under[0]))
    before = path.read_bytes()
    with pytest.raises(UsageError):
        connect(manifest, environ)
    assert show_connection(manifest, environ).state == "unreadable"
    assert path.read_bytes() == before


def test_the_command_shows_connects_and_disconnects(capsys: pytest.CaptureFixture[str]) -> None:
    harness = _WITH[0].id
    assert main(["app", "connect", "--json"]) == 0
    shown = {one["harness"]: one["state"] for one in json.loads(capsys.readouterr().out)}
    assert shown[harness] == "absent"
    assert shown[next(one.id for one in _WITHOUT if not one.scripted)] == "no_place"
    assert main(["app", "connect", harness]) == 0
    assert "connected now" in capsys.readouterr().out
    assert main(["app", "disconnect", harness, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["state"] == "absent"
    assert main(["app", "connect", "no-such"]) != 0
    assert main(["app", "tools", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out.splitlines()[-1])) == 17
