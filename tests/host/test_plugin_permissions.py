"""What code from outside may do: nothing that its manifest does not name, and every question to it is recorded."""

from __future__ import annotations

import asyncio
import os
import stat
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from inspan.host import HarnessHost
from inspan.host.audit import AUDIT_CAP_BYTES, AUDIT_FILE, AuditLog, AuditRecord
from inspan.model.errors import InspanError
from inspan.model.plan import LaunchPlan, LaunchRequest
from inspan.model.posture import Posture
from inspan.plugin import HistoryQuery, LaunchQuery, UsageAnswer
from support.harness_folders import add_harness, add_plugin, add_program, manifest_text

QUERY = LaunchQuery(seat="one", launch="l_1", mode="acp", workspace="/tmp")
PLUGIN = """
import os, sys
from inspan.plugin import *
from inspan.model.plan import LaunchPlan, PlanFile, TransportSettings

class Plugin(ManifestPlugin):
    async def get_context_usage(self, params):
        return UsageAnswer(detail={"environment": sorted(os.environ)})

    async def history(self, params):
        raise Refused("a secret of the conversation")

    async def launch(self, params):
        program = PROGRAM
        return LaunchPlan(
            program=program, arguments=(), cwd=params.workspace, files=FILES,
            settings=TransportSettings(workspace=params.workspace),
        )
"""


def run_with(
    tmp_path: Path,
    use: Callable[[HarnessHost], Awaitable[object]],
    *,
    program: str,
    permissions: str = "",
    files: str = "()",
) -> Path:
    home = tmp_path / "home"
    more = f"[permissions]\n{permissions}\n" if permissions else ""
    folder = add_harness(home / "harnesses", "acme", manifest_text(top='plugin = "plugin.py"', more=more))
    add_plugin(folder, PLUGIN.replace("PROGRAM", repr(program)).replace("FILES", files))
    programs = tmp_path / "bin"
    programs.mkdir(exist_ok=True)
    add_program(programs, "acme-agent", "print('agent')")

    async def run() -> None:
        environ = {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HOME": str(home),
            "OTHER_PROGRAM_NOTE": "of no concern",
            "ACME_REGION": "north",
        }
        async with HarnessHost(home, environ=environ) as host:
            host.trust_harness("acme")
            await use(host)

    asyncio.run(run())
    return home


def request(tmp_path: Path) -> LaunchRequest:
    return LaunchRequest(
        seat="one", harness="acme", mode="acp", attempt="fresh", workspace=str(tmp_path), posture=Posture()
    )


@pytest.mark.requirement("H-H8")
def test_its_process_gets_no_variable_that_its_manifest_does_not_name(tmp_path: Path) -> None:
    async def use(host: HarnessHost) -> None:
        answer = await host.ask("acme", "get_context_usage", QUERY)
        assert isinstance(answer, UsageAnswer)
        assert answer.detail is not None
        environment = answer.detail["environment"]
        assert "ACME_REGION" in environment
        assert "PATH" in environment
        assert "OTHER_PROGRAM_NOTE" not in environment

    run_with(tmp_path, use, program=sys.executable, permissions='environment = ["ACME_REGION"]')


@pytest.mark.requirement("H-H8")
def test_its_plans_start_no_program_and_write_no_file_that_its_manifest_does_not_allow(
    tmp_path: Path,
) -> None:
    agent = str(tmp_path / "bin" / "acme-agent")
    files = '(PlanFile(path="a.txt", text="x"),)'

    def refused(what: str) -> Callable[[HarnessHost], Awaitable[object]]:
        async def use(host: HarnessHost) -> None:
            with pytest.raises(InspanError) as caught:
                await host.plan(request(tmp_path))
            assert (caught.value.code, what in caught.value.hint) == ("plugin_not_permitted", True)

        return use

    async def allowed(host: HarnessHost) -> None:
        assert isinstance(await host.plan(request(tmp_path)), LaunchPlan)

    name = Path(sys.executable).name
    run_with(tmp_path, refused(name), program=sys.executable)
    run_with(tmp_path, refused("writes_files"), program=agent, files=files)
    run_with(tmp_path, allowed, program=agent)
    run_with(tmp_path, allowed, program=sys.executable, permissions=f'programs = ["{name}"]')
    run_with(tmp_path, allowed, program=agent, files=files, permissions="writes_files = true")


@pytest.mark.requirement("H-H8")
def test_every_question_is_recorded_with_how_it_went_and_never_with_what_was_said(tmp_path: Path) -> None:
    async def use(host: HarnessHost) -> None:
        await host.ask("acme", "get_context_usage", QUERY)
        with pytest.raises(InspanError):
            await host.ask("acme", "history", HistoryQuery(session_id="s_1", workspace="/tmp"))
        with pytest.raises(InspanError):
            await host.plan(request(tmp_path))

    home = run_with(tmp_path, use, program=sys.executable)
    records = AuditLog(home).records("acme")
    told = [(one.method, one.outcome) for one in records if one.method != "initialize"]
    assert told == [
        ("get_context_usage", "answered"),
        ("history", "plugin_refused"),
        ("launch", "answered"),
    ]
    assert all(one.pid and one.duration_ms >= 0 for one in records[1:])
    file = home / AUDIT_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "secret" not in file.read_text()


def test_the_record_is_bounded_and_a_cut_line_hides_no_other(tmp_path: Path) -> None:
    log = AuditLog(tmp_path)
    one = AuditRecord(
        at=datetime(2026, 11, 30, 12, tzinfo=UTC),
        harness="acme",
        method="probe",
        outcome="answered",
        duration_ms=1,
    )
    log.append(one)
    file = tmp_path / AUDIT_FILE
    file.write_bytes(file.read_bytes() + b'{"at": "2026' + b"\n")
    log.append(one)
    assert log.records() == [one, one]
    file.write_bytes(file.read_bytes() + b" " * AUDIT_CAP_BYTES)
    log.append(one)
    assert file.stat().st_size < 1000
    assert log.records("another") == []
    assert len(log.records("acme")) == 3
