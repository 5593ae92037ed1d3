"""The class of checks of a bridge: ours passes it, and one that is wrong in one way fails where it is wrong."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec
import pytest

from inspan.apps.conformance.bridge_runner import main, run_bridge_class
from inspan.apps.conformance.bridge_suite import BridgeClass, load_bridge_class
from inspan.model.errors import UsageError
from support.apps.programs import find_program

A2APP = (find_program("a2app"),)

_WRONG = """\
import sys
from inspan.apps.bridge import choosing, delivering, environment, harnesses_file, loop, options, prompt, queue, working
from inspan.apps.programs.agent_app.main import main
{patch}
sys.exit(main())
"""

FAULTS = {
    "believes every agent that ends well": (
        "queue.Queue.fail = lambda self, claim, reason, *, result: self._line.client.complete(claim.task.id, result={}).is_ok",
        "an agent that ends well and reports nothing has completed nothing",
    ),
    "hands on all that it has": (
        "delivering.agent_environment = lambda environ, *, inherits, sets: {**environ, **sets}",
        "an agent is given no key that nobody named",
    ),
    "says what the app says as it is": (
        "prompt.one_safe_line = lambda text, *, blanks=False: text",
        "what the app says stands between the fences, or is reduced to one line",
    ),
    "takes another harness where it knows no such": (
        "choosing._find = lambda profiles, name, who: next(one for one in profiles if one.id in (name, 'stand-in'))",
        "a harness that nobody knows is an error, and no other is taken",
    ),
    "brings what was not asked for": (
        "working.Looper = lambda *args, capabilities, **more: loop.Looper(*args, capabilities=(), **more)",
        "a capability that was not named waits",
    ),
    "calls anybody": (
        "harnesses_file.is_loopback = lambda url: True",
        "an address of another machine is refused",
    ),
}


def picked(*names: str) -> BridgeClass:
    """The class with these checks alone."""
    whole = load_bridge_class()
    found = tuple(one for one in whole.checks if one.name in names)
    assert len(found) == len(names)
    return msgspec.structs.replace(whole, checks=found)


@pytest.mark.requirement("P35")
@pytest.mark.timeout(400)  # thirty commands, each a program that starts anew
def test_our_bridge_passes_every_check(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["--agent-app", find_program("agent-app"), "--a2app", A2APP[0]])
    said = capsys.readouterr().out
    assert status == 0, said
    assert f"{len(load_bridge_class().checks)} passed, 0 failed" in said


@pytest.mark.requirement("P35")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_bridge_that_is_wrong_in_one_way_fails_the_check_of_it(fault: str, tmp_path: Path) -> None:
    patch, name = FAULTS[fault]
    program = tmp_path / "wrong-agent-app.py"
    program.write_text(_WRONG.format(patch=patch), encoding="utf-8")
    fine = "an agent that closes its task has done it"
    outcomes = run_bridge_class(picked(name, fine), agent_app=(sys.executable, str(program)), a2app=A2APP)
    assert {one.name: one.status for one in outcomes} == {name: "failed", fine: "passed"}, outcomes


@pytest.mark.requirement("P35")
@pytest.mark.timeout(400)
def test_a_program_that_only_says_yes_passes_next_to_nothing(tmp_path: Path) -> None:
    program = tmp_path / "yes.py"
    program.write_text('print(\'{"ok": true, "a2app": true}\')', encoding="utf-8")
    outcomes = run_bridge_class(load_bridge_class(), agent_app=(sys.executable, str(program)), a2app=A2APP)
    passed = [one.name for one in outcomes if one.status == "passed"]
    assert passed == ["a stop where nothing runs is fine"]


def test_a_file_that_is_no_class_is_refused_with_its_name(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('name = "x"\nchecks = [{ name = "y" }]', encoding="utf-8")
    with pytest.raises(UsageError, match=r"own\.toml"):
        load_bridge_class(file)
    assert main(["--checks", str(file)]) == 2
