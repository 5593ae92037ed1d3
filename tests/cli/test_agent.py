"""`inspan agent`: one prompt, a conversation on a real terminal, sessions and plugins."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from inspan.cli.exits import Exit
from support.agent_ground import script
from support.program import Result, inspan

MODEL = ("--model", "scripted:demo")


@pytest.fixture(autouse=True)
def workspace(throwaway_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = throwaway_home / "w"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for name in (
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GOOGLE_API_KEY",
        "GEMINI_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
    ):
        monkeypatch.delenv(name, raising=False)
    return folder


def run(*words: str) -> Result:
    return inspan("agent", "run", *MODEL, *words)


def test_a_prompt_is_answered_and_its_ending_is_the_status() -> None:
    done = run("good", "morning")
    assert (done.status, done.out) == (0, "[scripted] You said: good morning\n")
    assert "tokens in" in done.err
    for steps, status in (
        ("fail quota", Exit.LIMITED),
        ("fail raised", Exit.FAILED),
        ("stop refused", Exit.REFUSED),
    ):
        assert run(script("say x", steps)).status == status, steps


def test_without_a_terminal_what_would_be_asked_is_denied_and_a_mode_allows_it(workspace: Path) -> None:
    write = script('call write {"path": "a.txt", "content": "x"}', "---", "say over")
    assert run(write).status == 0
    assert not (workspace / "a.txt").exists()
    assert run("--permission-mode", "accept_edits", write).status == 0
    assert (workspace / "a.txt").read_text() == "x"


def test_json_is_one_value_at_the_end() -> None:
    done = run("--json", script("say 3: abc", "---"))
    assert done.value["text"].strip() == "abc"
    assert done.value["stop_reason"] == "end_turn"
    assert done.value["usage"]["requests"] >= 1
    assert done.value["session"].startswith("s_")
    assert done.out.count("\n") == 1


def test_a_session_is_kept_continued_resumed_listed_and_deleted() -> None:
    first = run("--json", "one").value["session"]
    assert run("--json", "--continue", "two").value["session"] == first
    assert run("--json", "--resume", first, "three").value["session"] == first
    assert run("--json", "--ephemeral", "four").value["session"] != first
    listed = inspan("agent", "sessions", "--json").value
    assert [(one["id"], one["title"]) for one in listed] == [(first, "one")]
    assert "one" in inspan("agent", "sessions").out
    assert inspan("agent", "sessions", "--delete", first).status == 0
    assert inspan("agent", "sessions", "--json").value == []
    assert inspan("agent", "sessions", "--delete", first).status != 0
    assert run("--continue", "x").status == Exit.USAGE
    assert run("--resume", "s_0000000000000000000", "x").status != 0


def test_without_a_model_and_a_key_it_says_what_to_do() -> None:
    done = inspan("agent", "run", "hello")
    assert done.status == Exit.HARNESS
    assert "ANTHROPIC_API_KEY" in done.err
    assert "Traceback" not in done.err
    assert inspan("agent", "run", "--model", "no:such", "hello").status != 0
    assert inspan("agent", "chat", *MODEL).status == Exit.USAGE, "there is no terminal"


@pytest.mark.requirement("R89")
def test_plugins_are_listed_shown_disabled_and_enabled(throwaway_home: Path) -> None:
    told = inspan("agent", "plugins", "--json").value
    states = {one["id"]: one["state"] for one in told["runtime_plugins"]}
    assert states["memory"] == "active"
    assert "memory" in inspan("agent", "plugins", "list").out
    assert inspan("agent", "plugins", "show", "memory", "--json").value["state"] == "active"
    assert "active" in inspan("agent", "plugins", "show", "memory").out
    assert inspan("agent", "plugins", "disable", "memory").status == 0
    assert inspan("agent", "plugins", "show", "memory", "--json").value["state"] == "disabled"
    file = Path(os.environ["INSPAN_HOME"]) / "plugins.json"
    assert json.loads(file.read_text()) == {"runtimePlugins": [{"id": "memory", "enabled": False}]}
    assert file.stat().st_mode & 0o777 == 0o600
    assert inspan("agent", "plugins", "enable", "memory").status == 0
    assert inspan("agent", "plugins", "show", "memory", "--json").value["state"] == "active"
    before = file.read_bytes()
    for words in (
        ("show", "nobody"),
        ("disable",),
        ("show", "../x"),
        ("enable", "nobody"),
        ("disable", "nobody"),
    ):
        assert inspan("agent", "plugins", *words).status == Exit.USAGE, words
    assert file.read_bytes() == before
    for text in ("no json", "[]", '{"runtimePlugins": 1}', '{"runtimePlugins": [{"id": [1]}]}'):
        file.write_text(text)
        assert inspan("agent", "plugins", "disable", "memory").status == Exit.USAGE
        assert inspan("agent", "plugins").status == Exit.USAGE
        assert file.read_text() == text


@pytest.mark.requirement("R14")
def test_a_required_plugin_that_fails_is_shown_and_can_be_disabled_though_no_agent_can_be_made(
    throwaway_home: Path,
) -> None:
    home = Path(os.environ["INSPAN_HOME"])
    home.mkdir(mode=0o700)
    (throwaway_home / "broken.py").write_text("raise ValueError('sk-planted')")
    entries = [
        {"id": "broken", "module": str(throwaway_home / "broken.py")},
        {"id": "missing", "module": str(throwaway_home / "missing.py"), "required": False},
    ]
    (home / "plugins.json").write_text(json.dumps({"runtimePlugins": entries}))
    assert run("hello").status == Exit.PLUGIN
    listed = inspan("agent", "plugins", "--json")
    assert listed.status == 0
    assert {one["id"]: (one["state"], one["is_required"]) for one in listed.value["runtime_plugins"]} == {
        "memory": ("active", False),
        "connector-cloud": ("active", False),
        "broken": ("failed", True),
        "missing": ("failed", False),
    }
    shown = inspan("agent", "plugins", "show", "broken")
    assert "failed in import with ValueError" in shown.out
    assert "No agent can be made" in shown.err
    assert "missing.py" in inspan("agent", "plugins", "show", "missing").out
    assert "sk-planted" not in listed.out + listed.err + shown.out + shown.err
    assert inspan("agent", "plugins", "disable", "memory").status == 0
    assert inspan("agent", "plugins", "disable", "broken").status == 0
    assert run("hello").status == 0


@pytest.mark.requirement("R104")
def test_the_demonstration_of_plugins_is_a_command(capfd: pytest.CaptureFixture[str]) -> None:
    assert inspan("demo", "plugins").out.splitlines()[-1].strip() == "connector: closed"
    assert inspan("demo", "nothing").status == Exit.USAGE


class Terminal:
    """`inspan agent chat` on a terminal of its own."""

    def __init__(self, *words: str) -> None:
        self.seen = b""
        self.pid, self._file = os.forkpty()
        if self.pid == 0:
            # A shell that runs the tests in its background has Ctrl-C ignored by all that they start.
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            with suppress(OSError):
                os.execve(  # noqa: S606 - the child's own program
                    sys.executable,
                    [sys.executable, "-m", "inspan.cli", "agent", "chat", *MODEL, *words],
                    {**os.environ, "TERM": "xterm-256color"},
                )
            os._exit(127)

    def type(self, text: str) -> None:
        os.write(self._file, text.encode())

    def until(self, *words: str) -> None:
        """Reads until all words came, in that order, since the last look."""
        for word in words:
            while word.encode() not in self.seen:
                with suppress(OSError):
                    self.seen += os.read(self._file, 65536)
                    continue
                raise AssertionError(f"{word!r} never came: {self.seen.decode(errors='replace')}")
            self.seen = self.seen.partition(word.encode())[2]

    def ended(self) -> int:
        with suppress(OSError):
            while piece := os.read(self._file, 65536):
                self.seen += piece
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def close(self) -> None:
        with suppress(OSError):
            os.close(self._file)
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)


@pytest.fixture
def terminal(workspace: Path) -> Iterator[Terminal]:
    opened = Terminal()
    yield opened
    opened.close()


def typed(steps: str) -> str:
    """A prompt of several lines, as a person types it."""
    return steps.replace("\n", "\\\r") + "\r"


def test_a_conversation_streams_asks_obeys_and_is_kept(terminal: Terminal, workspace: Path) -> None:
    terminal.until("scripted:demo", "> ")
    terminal.type("hello there\r")
    terminal.until("You said: hello there", "tokens in", "> ")
    write = script('call write {"path": "a.txt", "content": "x"}', "---", "say over and out")
    terminal.type(typed(write))
    terminal.until("Write a.txt", "allow?")
    terminal.type("perhaps\r")
    terminal.until("allow?")
    terminal.type("y\r")
    terminal.until("over and out", "> ")
    assert (workspace / "a.txt").read_text() == "x"
    terminal.type("/help\r")
    terminal.until("/compact", "/quit", "> ")
    terminal.type("/mode plan\r/mode\r")
    terminal.until("plan\r\n", "> ")
    terminal.type("/mode never\r")
    terminal.until("no permission mode", "> ")
    terminal.type("/plugins\r")
    terminal.until("memory", "> ")
    terminal.type("/new\r")
    terminal.until("Inspan's own agent", "> ")
    terminal.type("\x04")
    assert terminal.ended() == 0
    assert b"The session is kept" in terminal.seen


def test_control_c_stops_the_turn_and_the_conversation_goes_on(terminal: Terminal) -> None:
    terminal.until("> ")
    terminal.type(typed(script("say begun", "wait forever")))
    terminal.until("state=working", "begun")
    terminal.type("\x03")
    terminal.until("cancelled", "> ")
    terminal.type("still there?\r")
    terminal.until("You said: still there?", "> ")
    terminal.type("/quit\r")
    assert terminal.ended() == 0


def test_it_tells_its_terminal_what_it_does(terminal: Terminal) -> None:
    terminal.until("\x1b]7501;state=idle:app=inspan\x1b\\", "> ")
    terminal.type(typed(script('call write {"path": "a.txt", "content": "x"}', "---", "say over")))
    terminal.until("state=working", "state=blocked:app=inspan:kind=permission", "allow?")
    terminal.type("n\r")
    terminal.until("state=working", "state=done", "state=idle", "> ")
    terminal.type("\x04")
    assert terminal.ended() == 0
    assert b"state=clear" in terminal.seen


WITHOUT = """
import sys
class Without:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        is_gone = name.partition(".")[0] in {"jsonschema", "pydantic_ai", "genai_prices", "yaml", "mcp"}
        return None if is_gone else self.finder.find_spec(name, path, target)
sys.meta_path[:] = [Without(finder) for finder in sys.meta_path if hasattr(finder, "find_spec")]
from inspan.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(
    "words", [("agent", "run", *MODEL, "hello"), ("agent", "plugins", "list"), ("demo", "plugins")]
)
def test_on_a_machine_without_the_extra_it_says_what_to_install(words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, *words], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == Exit.HARNESS
    assert done.stdout == ""
    assert "pip install 'inspan[agent]'" in done.stderr
    assert "Traceback" not in done.stderr
