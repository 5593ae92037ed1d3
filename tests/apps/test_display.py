"""How a page is shown: the harness's command first, then the system's browser where somebody could see it."""

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from inspan.apps.display import headless_reason, is_wsl, open_url, opener_commands

URL = "http://127.0.0.1:8090"
DISPLAY = {"DISPLAY": ":0"}
UBUNTU = "Linux version 6.8.0-49-generic"
WSL2 = "Linux version 5.15.90.1-Microsoft-standard-WSL2"


class Starter:
    """Notes what would be started; the named programs cannot be."""

    def __init__(self, *missing: str) -> None:
        self.started: list[list[str]] = []
        self.missing = missing

    def __call__(self, command: Sequence[str]) -> None:
        if command[0] in self.missing:
            raise FileNotFoundError(command[0])
        self.started.append(list(command))


@pytest.mark.parametrize(
    ("environment", "system", "kernel", "reason"),
    [
        pytest.param(DISPLAY, "linux", UBUNTU, "", id="a display"),
        pytest.param({"WAYLAND_DISPLAY": "wayland-0"}, "linux", UBUNTU, "", id="Wayland alone"),
        pytest.param(
            {"DISPLAY": "", "WAYLAND_DISPLAY": "wayland-0"},
            "linux",
            UBUNTU,
            "",
            id="an empty DISPLAY beside Wayland",
        ),
        pytest.param({}, "linux", UBUNTU, "no DISPLAY or WAYLAND_DISPLAY", id="no display"),
        pytest.param(
            {"DISPLAY": ""}, "linux", UBUNTU, "no DISPLAY or WAYLAND_DISPLAY", id="an empty DISPLAY"
        ),
        pytest.param({}, "darwin", "", "", id="a Mac has no DISPLAY"),
        pytest.param({}, "win32", "", "", id="Windows has no DISPLAY"),
        pytest.param({"WSL_DISTRO_NAME": "Ubuntu"}, "linux", UBUNTU, "", id="WSL by its variable"),
        pytest.param({}, "linux", WSL2, "", id="WSL by its kernel"),
        pytest.param(
            {"WSL_DISTRO_NAME": ""},
            "linux",
            UBUNTU,
            "no DISPLAY or WAYLAND_DISPLAY",
            id="an empty WSL variable",
        ),
        pytest.param({**DISPLAY, "CI": "true"}, "linux", UBUNTU, "CI is set", id="CI"),
        pytest.param({**DISPLAY, "CI": "1"}, "darwin", "", "CI is set", id="CI on a Mac"),
        pytest.param({**DISPLAY, "CI": "false"}, "linux", UBUNTU, "", id="CI that is false"),
        pytest.param({**DISPLAY, "CI": ""}, "linux", UBUNTU, "", id="an empty CI"),
        pytest.param({**DISPLAY, "SSH_CONNECTION": "1 2 3 4"}, "linux", UBUNTU, "running over SSH", id="SSH"),
        pytest.param({**DISPLAY, "SSH_TTY": ""}, "linux", UBUNTU, "running over SSH", id="an empty SSH_TTY"),
        pytest.param(
            {"WSL_DISTRO_NAME": "Ubuntu", "SSH_TTY": "/dev/pts/0"},
            "linux",
            WSL2,
            "running over SSH",
            id="SSH into WSL",
        ),
    ],
)
@pytest.mark.requirement("P25")
def test_nothing_is_opened_where_nobody_could_see_it(
    environment: dict[str, str], system: str, kernel: str, reason: str
) -> None:
    starter = Starter()
    assert headless_reason(environment, system, kernel) == reason
    shown = open_url(
        URL, environment=environment, system=system, kernel=kernel, start=starter, warn=pytest.fail
    )
    assert (shown.opened, shown.via, shown.reason) == (not reason, "none" if reason else "os-browser", reason)
    assert bool(starter.started) == (not reason)


@pytest.mark.parametrize(
    ("environment", "system", "kernel", "openers"),
    [
        ({}, "win32", "", [["cmd", "/c", "start", ""]]),
        ({}, "darwin", "", [["open"]]),
        ({}, "linux", UBUNTU, [["xdg-open"]]),
        ({"WSL_DISTRO_NAME": "Ubuntu"}, "linux", UBUNTU, [["wslview"], ["explorer.exe"]]),
        ({"WSL_DISTRO_NAME": "Ubuntu"}, "darwin", "", [["open"]]),
    ],
)
@pytest.mark.requirement("P24")
def test_each_system_has_its_own_opener(
    environment: dict[str, str], system: str, kernel: str, openers: list[list[str]]
) -> None:
    assert opener_commands(environment, system, kernel) == openers
    assert is_wsl(environment, system, kernel) == (openers[0] == ["wslview"])


@pytest.mark.requirement("P24")
def test_the_next_opener_is_tried_and_in_the_end_the_reason_is_said() -> None:
    starter = Starter("wslview")
    shown = open_url(URL, environment={}, system="linux", kernel=WSL2, start=starter, warn=pytest.fail)
    assert (shown.opened, starter.started) == (True, [["explorer.exe", URL]])
    starter = Starter("xdg-open")
    shown = open_url(URL, environment=DISPLAY, system="linux", kernel=UBUNTU, start=starter, warn=pytest.fail)
    assert (shown.opened, shown.via, shown.reason) == (False, "none", "no usable opener (xdg-open)")


@pytest.mark.parametrize("elsewhere", [{"CI": "true"}, {"SSH_TTY": "/dev/pts/1"}, {}])
@pytest.mark.requirement("P24")
def test_the_harness_command_goes_first_even_where_there_is_no_display(elsewhere: dict[str, str]) -> None:
    starter = Starter()
    environment = {"AGENT_APP_OPEN_CMD": "  show   --in pane ", **elsewhere}
    shown = open_url(
        URL, environment=environment, system="linux", kernel=UBUNTU, start=starter, warn=pytest.fail
    )
    assert (shown.opened, shown.via) == (True, "harness-cmd")
    assert starter.started == [["show", "--in", "pane", URL]]


@pytest.mark.requirement("P24")
def test_words_of_the_harness_command_are_never_given_to_a_shell() -> None:
    starter = Starter()
    environment = {"AGENT_APP_OPEN_CMD": "show; rm -rf $HOME 'a b'"}
    open_url(URL, environment=environment, system="linux", kernel=UBUNTU, start=starter, warn=pytest.fail)
    assert starter.started == [["show;", "rm", "-rf", "$HOME", "'a", "b'", URL]]


@pytest.mark.requirement("P24")
def test_a_harness_command_that_cannot_be_started_is_said_and_passed_over() -> None:
    warned: list[str] = []
    starter = Starter("show")
    environment = {"AGENT_APP_OPEN_CMD": "show", **DISPLAY}
    shown = open_url(
        URL, environment=environment, system="linux", kernel=UBUNTU, start=starter, warn=warned.append
    )
    assert (shown.via, len(warned)) == ("os-browser", 1)
    shown = open_url(
        URL,
        environment=environment | {"CI": "1"},
        system="linux",
        kernel=UBUNTU,
        start=starter,
        warn=warned.append,
    )
    assert (shown.opened, shown.reason, len(warned)) == (False, "CI is set", 2)


@pytest.mark.requirement("P24")
def test_a_blank_harness_command_counts_as_none() -> None:
    starter = Starter()
    environment = {"AGENT_APP_OPEN_CMD": " \t ", **DISPLAY}
    shown = open_url(
        URL, environment=environment, system="linux", kernel=UBUNTU, start=starter, warn=pytest.fail
    )
    assert shown.via == "os-browser"


@pytest.mark.requirement("P24")
def test_with_print_only_nothing_is_started() -> None:
    starter = Starter()
    environment = {"AGENT_APP_OPEN_CMD": "show", **DISPLAY}
    shown = open_url(URL, print_only=True, environment=environment, start=starter, warn=pytest.fail)
    assert (shown.opened, shown.via, starter.started) == (False, "print-only", [])


def test_a_real_program_gets_the_url_as_its_last_word() -> None:
    with tempfile.TemporaryDirectory(prefix="isp-") as folder:
        script, heard = Path(folder) / "show.py", Path(folder) / "heard"
        script.write_text(
            "import os, sys; open(sys.argv[1] + '.new', 'w').write(sys.argv[2]); os.replace(sys.argv[1] + '.new', sys.argv[1])"
        )
        environment = {"AGENT_APP_OPEN_CMD": f"{sys.executable} {script} {heard}"}
        assert open_url(URL, environment=environment, warn=pytest.fail).opened
        deadline = time.monotonic() + 30
        while not heard.exists():
            assert time.monotonic() < deadline, "the program was not started"
        assert heard.read_text() == URL
