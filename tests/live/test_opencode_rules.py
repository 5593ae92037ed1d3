"""OpenCode's own reading of a posture beside rules that its operator saved: the posture's default stands before them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from inspan.host import HarnessHost
from inspan.model.posture import Approvals
from support.live.target import ReadyTarget

pytestmark = [pytest.mark.live, pytest.mark.timeout(300)]

SAVED: dict[str, Any] = {"bash": {"git *": "allow", "rm *": "deny"}, "webfetch": "deny"}


@pytest.mark.requirement("H-N30", "H-F2")
@pytest.mark.parametrize("approvals", [Approvals.ASK, Approvals.EDITS, Approvals.BYPASS])
def test_saved_rules_come_after_the_posture_s_default(
    opencode: ReadyTarget, approvals: Approvals, tmp_path: Path
) -> None:
    arena = opencode.arena
    file = arena.home / ".config" / "opencode" / "opencode.json"
    settings = json.loads(file.read_text())
    file.write_text(json.dumps({**settings, "permission": SAVED}))
    manifest = HarnessHost(tmp_path, environ={}).registry.manifest("opencode")
    (rule,) = [one for one in manifest.modes["acp"].postures if one.approvals is approvals]
    arena.environment.update(rule.environment)

    done = arena.run([str(opencode.installed.program), "debug", "agent", "build"])
    table = json.loads(done.stdout[done.stdout.index("{") :])
    rules = [(one["permission"], one["pattern"], one["action"]) for one in table["permission"]]

    default = json.loads(rule.environment["OPENCODE_PERMISSION"])["*"]
    place = max(index for index, one in enumerate(rules) if one == ("*", "*", default))
    for one in (("bash", "git *", "allow"), ("bash", "rm *", "deny"), ("webfetch", "*", "deny")):
        assert one in rules[place + 1 :]
