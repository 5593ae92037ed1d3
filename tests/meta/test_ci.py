"""`.ci/run` runs the make targets, ends with pytest's own words, and fails when one of them fails."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SCRIPTED_MAKE = """\
#!/bin/sh
# Stands in for make: says its target, and fails for the one that FAILING names;
# for the one that LEAKING names it leaves a process behind.
for target; do :; done
echo "target $target, CI=$CI"
[ "$target" = "$FAILING" ] && exit 2
[ "$target" = "$LEAKING" ] && { sleep 30 & echo $! >"$TMPDIR/left"; }
case "$target" in test|live|fault) echo "===== 7 passed in 0.01s =====";; esac
exit 0
"""


def _run_ci(folder: Path, *, failing: str = "", leaking: str = "") -> subprocess.CompletedProcess[str]:
    make = folder / "make"
    make.write_text(SCRIPTED_MAKE, encoding="utf-8")
    make.chmod(0o755)
    environment = os.environ | {"PATH": f"{folder}:{os.environ['PATH']}", "TMPDIR": str(folder)}
    environment |= {"FAILING": failing, "LEAKING": leaking, "INSPAN_NO_INSTALL": "1"}
    return subprocess.run(
        [ROOT / ".ci" / "run"], env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_ci_runs_every_target_in_turn_and_ends_with_the_closing_line_of_pytest(tmp_path: Path) -> None:
    finished = _run_ci(tmp_path)

    assert finished.returncode == 0
    targets = [line.split(",")[0] for line in finished.stdout.splitlines() if line.startswith("target ")]
    there = [name for name in ("fault", "live") if (ROOT / "tests" / name).is_dir()]
    assert targets == [f"target {name}" for name in ("test", "lint", "demo", *there)]
    assert "target test, CI=true" in finished.stdout
    assert finished.stdout.rstrip().endswith("===== 7 passed in 0.01s =====")
    assert [path.name for path in tmp_path.iterdir()] == ["make"]


@pytest.mark.parametrize("failing", ["test", "lint", "demo"])
def test_ci_fails_with_the_target_that_fails_and_runs_nothing_after_it(tmp_path: Path, failing: str) -> None:
    finished = _run_ci(tmp_path, failing=failing)

    assert finished.returncode == 1
    assert f"make {failing} failed" in finished.stdout
    assert finished.stdout.count("target ") == ("test", "lint", "demo").index(failing) + 1


def test_ci_fails_when_a_target_leaves_a_process_behind(tmp_path: Path) -> None:
    finished = _run_ci(tmp_path, leaking="lint")
    os.kill(int((tmp_path / "left").read_text(encoding="utf-8")), signal.SIGKILL)

    assert finished.returncode == 1
    assert "make lint left a process behind" in finished.stdout
    assert "target demo" not in finished.stdout
