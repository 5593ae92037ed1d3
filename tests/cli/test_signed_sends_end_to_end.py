"""`inspan send --sign`, with a real daemon and a real key: what an agent can look up of whose prompt it has."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from support.harness_folders import add_harness, add_program, manifest_text
from support.program import inspan, wait_until_gone

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


@pytest.mark.requirement("H-E6")
def test_a_signed_send_is_shown_as_its_operator_s_and_an_unsigned_one_as_nobody_s(
    throwaway_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Path(os.environ["INSPAN_HOME"])
    add_harness(home / "harnesses", "acme", manifest_text(more=_MODE))
    add_program(throwaway_home / "bin", "acme-agent", "import sys; sys.stdin.read(); print('done')")
    monkeypatch.setenv("PATH", f"{throwaway_home / 'bin'}:{os.environ['PATH']}")
    key = throwaway_home / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    try:
        added = inspan(
            *("seat", "add", "first", "--harness", "acme", "--mode", "once"),
            *("--workspace", str(throwaway_home)),
        )
        assert added.status == 0, added
        early = inspan("send", "first", "--sign", str(key), "not listed yet")
        assert early.status != 0
        assert "signature" in early.err
        signers = home / "signers"
        signers.write_text(f"ada@example.org {key.with_suffix('.pub').read_text()}")
        signers.chmod(0o600)
        assert inspan("send", "first", "--sign", str(key), "merge it").status == 0
        assert inspan("send", "first", "signed: ada@example.org").status == 0
        deliveries = inspan("--json", "deliveries", "first").value
        assert [(one["text"], one.get("signed_by", "")) for one in deliveries] == [
            ("merge it", "ada@example.org"),
            ("signed: ada@example.org", ""),
        ]
        assert "ada@example.org (signed)" in inspan("deliveries", "first").out
        assert inspan("send", "first", "--sign", str(throwaway_home / "none"), "no key").status != 0
    finally:
        assert inspan("daemon", "stop", "--harnesses").status == 0
        wait_until_gone(os.environ["INSPAN_HOME"])
