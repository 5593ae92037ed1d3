"""A harness that sends to another seat with `inspan send`: a real daemon stamps it by the connection, not by a claim."""

import os
import sys
from pathlib import Path

import pytest

from support.harness_folders import add_harness, add_program, manifest_text
from support.program import inspan, inspan_process, wait_until_gone

_PROGRAM = f"""
import subprocess, sys
prompt = sys.stdin.read()
if "pass it on" in prompt:
    subprocess.run([{sys.executable!r}, "-m", "inspan.cli", "send", "other", "from inside"], check=True)
print("done")
"""
_MODE = """
[modes.once]
transport = "headless"
[modes.once.launch]
args = ["run"]
[modes.once.headless]
output = "text"
[modes.once.capabilities]
activity = { support = "supported", source = "a test" }
permission_report = { support = "supported", source = "a test" }
[[modes.once.postures]]
approvals = "ask"
"""


@pytest.mark.requirement("H-E9")
@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="elsewhere no peer is known")
def test_only_what_a_seat_s_harness_sends_is_stamped_whatever_the_shell_claims(
    throwaway_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(os.environ["INSPAN_HOME"])
    add_harness(home / "harnesses", "acme", manifest_text(more=_MODE))
    add_program(throwaway_home / "bin", "acme-agent", _PROGRAM)
    monkeypatch.setenv("PATH", f"{throwaway_home / 'bin'}:{os.environ['PATH']}")
    try:
        for name in ("first", "other"):
            # Its own home is not told to a harness, which finds the daemon of the usual one.
            added = inspan(
                *(
                    "seat",
                    "add",
                    name,
                    "--harness",
                    "acme",
                    "--mode",
                    "once",
                    "--workspace",
                    str(throwaway_home),
                ),
                *("--env", f"INSPAN_HOME={home}"),
            )
            assert added.status == 0, added
        sent = inspan("send", "first", "--wait", "--timeout", "60", "pass it on")
        assert sent.status == 0, sent
        monkeypatch.setenv("INSPAN_SEAT", "first")
        monkeypatch.setenv("INSPAN_LAUNCH", "l_1")
        with inspan_process("send", "other", "from the shell") as shell:
            assert shell.wait(30) == 0, shell.communicate()
        deliveries = inspan("--json", "deliveries", "other").value
        assert {one["text"]: one.get("sender", "") for one in deliveries} == {
            "from inside": "first",
            "from the shell": "",
        }
        assert "unknown" in inspan("deliveries", "other").out
    finally:
        assert inspan("daemon", "stop", "--harnesses").status == 0
        wait_until_gone(os.environ["INSPAN_HOME"])
