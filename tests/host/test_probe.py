"""The probe: an installed program is asked for its version, for a short time and without secrets."""

import asyncio
import os
import sys
import time
from pathlib import Path

import pytest

from inspan.host import HarnessHost
from inspan.model.plan import ProbeResult
from support.harness_folders import add_harness, add_program, manifest_text

TESTED = 'names = ["acme-agent"]\ntested = ">=1.2, <2"'


def probe(tmp_path: Path, source: str | None, *, more: str = "", **environ: str) -> ProbeResult:
    text = manifest_text(more=more).replace('names = ["acme-agent"]', TESTED)
    add_harness(tmp_path / "home" / "harnesses", "acme", text)
    if source is not None:
        add_program(tmp_path / "bin", "acme-agent", source)
    host = HarnessHost(tmp_path / "home", environ={"PATH": str(tmp_path / "bin"), **environ})
    return asyncio.run(host.probe("acme"))


def test_a_version_in_the_tested_range_has_no_problem(tmp_path: Path) -> None:
    result = probe(tmp_path, "print('acme-agent v1.18.33 (abc)')")

    assert result == ProbeResult(
        harness="acme",
        installed="yes",
        program=str(tmp_path / "bin/acme-agent"),
        version="1.18.33",
        tested="yes",
    )


@pytest.mark.requirement("H-N20")
def test_a_version_outside_the_range_is_an_advisory_and_no_refusal(tmp_path: Path) -> None:
    result = probe(tmp_path, "print('2.0.0')")

    assert (result.installed, result.version, result.tested) == ("yes", "2.0.0", "no")
    assert [(problem.code, problem.is_fatal) for problem in result.problems] == [("version_untested", False)]


@pytest.mark.requirement("H-N20")
@pytest.mark.parametrize("answer", ["print('welcome')", "pass"])
def test_a_missing_version_is_an_advisory_and_no_refusal(tmp_path: Path, answer: str) -> None:
    result = probe(tmp_path, answer)

    assert (result.installed, result.version, result.tested) == ("yes", None, "unknown")
    assert [(problem.code, problem.is_fatal) for problem in result.problems] == [("probe_failed", False)]


def test_a_warning_on_the_standard_error_is_not_taken_for_the_version(tmp_path: Path) -> None:
    source = "import sys\nprint('warning: node 20.1.2 is old', file=sys.stderr, flush=True)\nprint('1.3.0')"

    assert probe(tmp_path, source).version == "1.3.0"


def test_a_program_that_fails_is_unknown_with_its_last_words(tmp_path: Path) -> None:
    result = probe(tmp_path, "raise SystemExit('no config found')")

    assert result.installed == "unknown"
    assert "status 1: no config found" in result.problems[0].message


def test_a_program_that_cannot_be_run_at_all_is_unknown(tmp_path: Path) -> None:
    program = add_program(tmp_path / "bin", "acme-agent", "")
    program.write_bytes(b"#!/no/such/interpreter\n")

    result = probe(tmp_path, None)

    assert result.installed == "unknown"
    assert "cannot be started" in result.problems[0].message


def test_a_program_that_is_not_there_is_not_installed(tmp_path: Path) -> None:
    result = probe(tmp_path, None)

    assert (result.installed, result.program) == ("no", None)
    assert [problem.code for problem in result.problems] == ["not_installed"]


def test_a_program_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    pid_file = tmp_path / "pids"
    source = f"""
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
with open({str(pid_file)!r}, "w") as file:
    file.write(f"{{os.getpid()}} {{child.pid}}")
time.sleep(600)
"""
    result = probe(tmp_path, source, more="[program.version]\ntimeout_s = 6\n")

    assert result.installed == "unknown"
    assert "within 6 s" in result.problems[0].message
    deadline = time.monotonic() + 10
    while (alive := [pid for pid in pid_file.read_text().split() if is_running(int(pid))]) and (
        time.monotonic() < deadline
    ):
        os.sched_yield()
    assert alive == []


def is_running(pid: int) -> bool:
    """Whether a process lives: a zombie of somebody else's is no longer running."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_a_program_that_says_too_much_is_read_to_its_end(tmp_path: Path) -> None:
    assert probe(tmp_path, "print('1.4.0')\nprint('x' * 3_000_000)").version == "1.4.0"


def test_the_probe_sees_no_secret_and_no_variable_that_is_stripped(tmp_path: Path) -> None:
    source = "import os\nprint('1.5.0', sorted(os.environ))\nraise SystemExit(','.join(sorted(os.environ)))"
    more = '[modes.acp.environment]\nstrip = ["ACME_PARENT"]\n[program.version]\nenvironment = { ACME_PROBE = "1" }'

    result = probe(tmp_path, source, more=more, ACME_API_KEY="secret", ACME_PARENT="1", LANG="C.UTF-8")

    names = result.problems[0].message
    assert "ACME_PROBE" in names
    assert "LANG" in names
    assert "ACME_API_KEY" not in names
    assert "ACME_PARENT" not in names


def test_a_harness_whose_id_looks_like_a_secret_can_be_named_by_its_variable(tmp_path: Path) -> None:
    add_harness(tmp_path / "home" / "harnesses", "monkey", manifest_text("monkey"))
    program = add_program(tmp_path / "bin", "other", "print('monkey 3.1')")
    host = HarnessHost(tmp_path / "home", environ={"INSPAN_PROGRAM_MONKEY": str(program)})

    assert asyncio.run(host.probe("monkey")).version == "3.1"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_check_for_a_running_process_can_fail() -> None:
    assert is_running(os.getpid())
    assert not is_running(2**22 + 1)
