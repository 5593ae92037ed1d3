import os
from pathlib import Path
from typing import Any

import pytest

from inspan.cli.context import Context
from inspan.cli.findings import find_all
from inspan.cli.output import Output
from support.program import inspan
from support.scripted_http import ScriptedHttp


def _levels(*words: str) -> dict[str, str]:
    return {one["name"]: one["level"] for one in inspan("--json", *words, "doctor").value["findings"]}


def test_a_home_that_was_never_used_is_well_and_stays_unmade() -> None:
    result = inspan("doctor")

    assert result.status == 0
    assert "made at first use" in result.out
    assert not Path(os.environ["INSPAN_HOME"]).exists()


def test_a_home_that_is_open_to_others_fails_with_the_remedy() -> None:
    home = Path(os.environ["INSPAN_HOME"])
    home.mkdir(mode=0o755)

    result = inspan("doctor")

    assert result.status == 1
    assert f"chmod 700 {home}" in result.out


def test_a_home_that_is_a_file_fails() -> None:
    Path(os.environ["INSPAN_HOME"]).write_text("")

    assert _levels()["home"] == "fail"


def test_a_home_whose_sockets_would_be_too_long_fails(throwaway_home: Path) -> None:
    levels = _levels("--home", str(throwaway_home / ("x" * 100)))

    assert levels["sockets"] == "fail"


@pytest.mark.parametrize(
    ("status", "level"),
    [
        ({"version": "0.1.0", "api": 1, "pid": 1}, "ok"),
        ({"version": "0.0.9", "api": 1, "pid": 1}, "warn"),
        ({"version": "9.0.0", "api": 9, "pid": 1}, "fail"),
    ],
)
def test_a_daemon_of_another_version_is_told_apart_by_how_much_it_matters(
    daemon: ScriptedHttp, status: dict[str, object], level: str
) -> None:
    daemon.on("GET", "/v1/status", status)
    daemon.on("GET", "/v1/harnesses", [])

    assert _levels()["daemon"] == level


def test_a_log_that_cannot_be_written_fails(daemon: ScriptedHttp) -> None:
    daemon.on("GET", "/v1/status", {"version": "0.1.0", "api": 1, "store": "store_full"})
    daemon.on("GET", "/v1/harnesses", [])

    assert _levels()["log"] == "fail"


def test_a_log_that_is_damaged_fails() -> None:
    home = Path(os.environ["INSPAN_HOME"])
    home.mkdir(mode=0o700)
    (home / "log.db").write_bytes(b"no database at all" * 100)

    assert _levels()["log"] == "fail"


def test_a_harness_that_is_absent_is_a_fact_and_one_with_a_problem_a_warning(daemon: ScriptedHttp) -> None:
    daemon.on(
        "GET",
        "/v1/harnesses",
        [{"id": "absent"}, {"id": "odd"}, {"id": "faulty", "problem": {"message": "m"}}],
    )
    daemon.on("POST", "/v1/harnesses/absent/probe", {"harness": "absent", "installed": "no"})
    daemon.on(
        "POST",
        "/v1/harnesses/odd/probe",
        {"harness": "odd", "installed": "yes", "tested": "no", "version": "9"},
    )

    findings = {one["name"]: one for one in inspan("--json", "doctor").value["findings"]}

    assert (findings["odd"]["level"], findings["faulty"]["level"]) == ("warn", "warn")
    assert "absent" not in findings
    assert findings["harnesses"]["level"] == "ok"
    assert findings["harnesses"]["fact"].startswith("1 more can be installed")


def test_a_harness_that_is_known_to_be_absent_is_not_probed(daemon: ScriptedHttp) -> None:
    daemon.on("GET", "/v1/harnesses", [{"id": "absent", "installed": "no"}])

    assert "none is installed" in inspan("doctor").out
    assert daemon.bodies("POST", "/v1/harnesses/absent/probe") == []


def test_harnesses_are_looked_at_without_a_daemon_too() -> None:
    findings = {one["name"]: one for one in inspan("--json", "doctor").value["findings"]}

    assert findings["demo"]["level"] == "ok"
    assert findings["demo"]["fact"][0].isdecimal()
    assert not Path(os.environ["INSPAN_HOME"]).exists()


HINT = {"hint": "Do that."}
SEATS: list[tuple[dict[str, Any], str, str]] = [
    ({"problem": {"code": "c", "message": "It is not installed.", **HINT}}, "fail", "It is not installed."),
    ({"queue": [{"id": "d", "held": "launch_failed", **HINT}]}, "warn", "1 prompt held: launch_failed"),
    (
        {"needs_input": [{"kind": "permission", "summary": "Run ls", "request": "p_1"}]},
        "warn",
        "waits for you: Run ls",
    ),
    (
        {"status": "failed", "launch": {"id": "l", "status": "ended", "error": {"message": "No.", **HINT}}},
        "warn",
        "its newest launch failed: No.",
    ),
]


@pytest.mark.parametrize(("view", "level", "fact"), SEATS, ids=[fact for *_, fact in SEATS])
def test_a_seat_that_wants_attention_has_a_line_with_the_next_step(
    daemon: ScriptedHttp, view: dict[str, Any], level: str, fact: str
) -> None:
    daemon.on("GET", "/v1/harnesses", [])
    daemon.on("GET", "/v1/seats", [{"name": "a", "status": "idle", **view}, {"name": "b", "status": "idle"}])

    result = inspan("--json", "doctor")
    findings = {one["name"]: one for one in result.value["findings"]}

    assert result.status == (1 if level == "fail" else 0)
    assert (findings["seat a"]["level"], findings["seat a"]["fact"]) == (level, fact)
    assert "Do that." in findings["seat a"]["remedy"] or "inspan approve p_1" in findings["seat a"]["remedy"]
    assert "seat b" not in findings
    assert findings["seats"]["fact"] == "1 seat of 2 is well"


def test_seats_that_never_ran_are_not_counted_as_lost(daemon: ScriptedHttp) -> None:
    (Path(os.environ["INSPAN_HOME"]) / "launches" / "l_1").mkdir(parents=True, mode=0o700)
    (Path(os.environ["INSPAN_HOME"]) / "launches" / "l_1" / "claim").write_text("abandoned\n")
    daemon.on("GET", "/v1/harnesses", [])
    daemon.on("GET", "/v1/seats", [{"name": "a", "status": "stopped"}])

    assert _levels()["launches"] == "ok"


def test_seats_that_cannot_be_listed_fail_with_the_reason(daemon: ScriptedHttp) -> None:
    daemon.on("GET", "/v1/harnesses", [])
    daemon.fail("GET", "/v1/seats", "store_corrupt", group="store", status=503)

    [finding] = [one for one in inspan("--json", "doctor").value["findings"] if one["name"] == "seats"]
    assert (finding["level"], finding["fact"]) == ("fail", "It is store_corrupt.")


def test_every_warning_and_failure_comes_with_a_remedy(daemon: ScriptedHttp) -> None:
    home = Path(os.environ["INSPAN_HOME"])
    home.chmod(0o755)
    (home / "log.db").write_bytes(b"no database at all" * 100)
    daemon.on("GET", "/v1/status", {"version": "0.0.9", "api": 9})
    daemon.on("GET", "/v1/harnesses", [])

    findings = list(find_all(Context(output=Output())))

    assert {one.level for one in findings} >= {"ok", "fail"}
    assert all(one.remedy for one in findings if one.level != "ok")


def test_a_launch_that_no_seat_knows_of_is_a_warning(daemon: ScriptedHttp) -> None:
    folder = Path(os.environ["INSPAN_HOME"]) / "launches" / "l_stray"
    folder.mkdir(parents=True, mode=0o700)
    daemon.on("GET", "/v1/harnesses", [])
    daemon.on("GET", "/v1/seats", [])

    assert _levels()["launches"] == "warn"

    (folder / "claim").write_text("abandoned\n")
    assert _levels()["launches"] == "ok"
