"""The audit log of JSON lines: its file's mode, its order, and that nothing of it is lost at an end."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from inspan.agent.audit.events import ToolExecution
from inspan.agent.plugins.configuration import parse_config_list
from inspan.agent.plugins.entries import InlinePlugin, resolve_entries
from inspan.agent.plugins.jsonl_audit import plugin
from inspan.agent.plugins.jsonl_sink import JsonlFile
from support.runtime_plugins import Ground, make_services, open_host

MODULE = "inspan.agent.plugins.jsonl_audit"


def execution(number: int) -> ToolExecution:
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    return ToolExecution(
        at=at, session_id="s", call_id=str(number), tool="t", owner="o", duration_s=0.5, is_error=False
    )


def open_audit(folder: Path, path: Path, *, is_required: bool = True) -> Any:
    inline = InlinePlugin(plugin=plugin, config={"path": str(path)}, required=is_required)
    return open_host(folder, inline)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@contextmanager
def umask(mask: int) -> Generator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


@pytest.mark.requirement("R67", "R69", "R79")
@pytest.mark.parametrize("is_inline", [True, False])
def test_every_event_is_a_line_in_order_when_the_agent_has_ended(tmp_path: Path, is_inline: bool) -> None:
    path = tmp_path / "audit.jsonl"

    async def publish(ground: Ground) -> None:
        assert ground.status["audit-jsonl"].state == "active"
        for number in range(900):
            ground.services.audit.publish(execution(number))

    async def scenario() -> None:
        if is_inline:
            async with open_audit(tmp_path, path) as ground:
                await publish(ground)
        else:
            raw = [{"id": "audit-jsonl", "module": MODULE, "config": {"path": str(path)}}]
            entries = resolve_entries(lists=[parse_config_list(raw, "a test")])
            async with open_host(tmp_path, entries=entries) as ground:
                await publish(ground)

    asyncio.run(scenario())
    lines = [json.loads(line) for line in path.read_text().splitlines()]

    assert [line["call_id"] for line in lines] == [str(number) for number in range(900)]
    assert lines[0] == {
        "kind": "tool_execution",
        "at": "2026-01-02T03:04:05Z",
        "session_id": "s",
        "call_id": "0",
        "tool": "t",
        "owner": "o",
        "duration_s": 0.5,
        "is_error": False,
        "exception": "",
        "subagent": "",
    }


@pytest.mark.requirement("R68")
@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o277, 0o777])
def test_a_file_that_it_makes_has_mode_0600_and_its_folders_0700_under_any_umask(
    tmp_path: Path, mask: int
) -> None:
    path = tmp_path / "one" / "two" / "audit.jsonl"

    with umask(mask):
        file = JsonlFile(path)
        file.append(b"{}\n")
        file.close()

    assert mode_of(path) == 0o600
    assert (mode_of(tmp_path / "one"), mode_of(tmp_path / "one" / "two")) == (0o700, 0o700)
    assert path.read_bytes() == b"{}\n"


@pytest.mark.requirement("R68", "R70")
def test_a_file_that_is_there_is_appended_to_and_its_mode_is_left(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_bytes(b'{"old": 1}\n')
    path.chmod(0o644)

    file = JsonlFile(path)
    file.append(b"{}\n")
    file.close()

    assert path.read_bytes() == b'{"old": 1}\n{}\n'
    assert mode_of(path) == 0o644
    assert sorted(one.name for one in tmp_path.iterdir()) == ["audit.jsonl"], "nothing is rotated"


def test_a_line_that_a_killed_process_left_torn_does_not_take_the_next_one_with_it(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_bytes(b'{"torn')

    file = JsonlFile(path)
    file.append(b"{}\n")
    file.append(b"[]\n")
    file.close()

    assert path.read_bytes() == b'{"torn\n{}\n[]\n'


@pytest.mark.requirement("R81")
@pytest.mark.parametrize("kind", ["a folder", "a pipe", "below a file"])
def test_a_file_that_cannot_be_written_fails_at_the_start(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "audit.jsonl"
    match kind:
        case "a folder":
            path.mkdir()
        case "a pipe":
            os.mkfifo(path)
        case _:
            path.write_text("")
            path = path / "below.jsonl"

    async def scenario() -> Any:
        async with open_audit(tmp_path, path, is_required=False) as ground:
            return ground.status["audit-jsonl"]

    status = asyncio.run(scenario())

    assert (status.state, status.phase) == ("failed", "setup")


@pytest.mark.requirement("R67")
@pytest.mark.parametrize(
    "config", [None, {}, {"path": "relative"}, {"path": 1}, {"path": "/x", "more": 1}, "/x"]
)
def test_its_configuration_is_one_absolute_path(config: Any) -> None:
    with pytest.raises(ValueError):
        plugin.parse_config(config)


def fill_the_disk_under(path: Path) -> None:
    """Puts the device that is always full where this process has the file open."""
    open_as = next(one.name for one in Path("/proc/self/fd").iterdir() if os.path.realpath(one) == str(path))
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, int(open_as))
    os.close(full)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the full device and open files are Linux's")
@pytest.mark.requirement("R77", "R81")
def test_a_disk_that_is_full_is_a_fault_of_the_sink_alone_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def scenario() -> Any:
        services = make_services(tmp_path)
        inline = InlinePlugin(plugin=plugin, config={"path": str(tmp_path / "audit.jsonl")})
        async with open_host(tmp_path, inline, services=services) as ground:
            fill_the_disk_under(tmp_path / "audit.jsonl")
            for number in range(3):
                services.audit.publish(execution(number))
                await services.audit.drain(1)
                await asyncio.to_thread(lambda: None)
        return ground.status["audit-jsonl"]

    status = asyncio.run(scenario())

    assert status.state == "stopped"
    assert "OSError" in " ".join(status.warnings)
    assert "OSError" in caplog.text


def test_a_process_that_is_killed_has_lost_no_line_that_was_written_before(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    program = f"""
import os, signal
from pathlib import Path
from inspan.agent.plugins.jsonl_sink import JsonlFile
file = JsonlFile(Path({str(path)!r}))
file.append(b"{{}}\\n" * 10)
os.kill(os.getpid(), signal.SIGKILL)
"""
    done = subprocess.run([sys.executable, "-c", program], check=False)

    assert done.returncode == -9
    assert path.read_bytes() == b"{}\n" * 10
