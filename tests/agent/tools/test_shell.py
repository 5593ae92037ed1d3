"""The `shell` tool: what comes out, what is cut, and that nothing of a command outlives its call."""

import asyncio
import os
import re
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.agent.cancelling import CancelSource
from inspan.agent.tools.command_output import CommandOutput, clean_output
from inspan.agent.tools.ground import Ground
from inspan.agent.tools.processes import MARK, ProcessRun
from inspan.agent.tools.reading import read_tool
from inspan.agent.tools.settings import ShellSettings
from inspan.agent.tools.shell import shell_tool
from inspan.agent.tools.shell_environment import command_environment, is_secret
from inspan.agent.tools.spills import Spills
from inspan.agent.values import ToolResult
from support.agent_tools import call_context, call_tool, make_ground, run_tool

PYTHON = sys.executable


@pytest.fixture
def ground() -> Any:
    made = make_ground()
    yield made
    made.spills.close()


def shell(
    ground: Ground, workspace: Path, command: str, settings: ShellSettings | None = None, **more: Any
) -> ToolResult:
    return run_tool(shell_tool(ground, settings or ShellSettings()), workspace, command=command, **more)


class Heard:
    """What a call says of its progress, from whatever thread."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.came = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def take(self, line: str) -> None:
        self.lines.append(line)
        self._loop.call_soon_threadsafe(self.came.set)


def pids_of(text: str) -> list[int]:
    return [int(word) for word in re.findall(r"pid=(\d+)", text)]


def test_output_of_both_streams_and_the_exit_code_come_back(ground: Ground, tmp_path: Path) -> None:
    assert shell(ground, tmp_path, "echo out; echo err >&2; exit 0").text == "out\nerr\n[exit code 0]"
    failed = shell(ground, tmp_path, "echo x; exit 3")
    assert failed.is_error
    assert failed.text == "x\n[exit code 3]"
    assert shell(ground, tmp_path, "true").text == "[exit code 0]"
    assert shell(ground, tmp_path, "kill -9 $$").text == "[ended by SIGKILL]"
    assert shell(ground, tmp_path, "no-such-command-here").text.endswith("[exit code 127]")


def test_it_runs_in_the_workspace_or_a_folder_of_it(ground: Ground, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "link").symlink_to("/")

    assert shell(ground, tmp_path, "pwd").text.startswith(f"{tmp_path}\n")
    assert shell(ground, tmp_path, "pwd", folder="inner").text.startswith(f"{tmp_path}/inner\n")
    for folder in ("..", "/", "link", "missing"):
        assert shell(ground, tmp_path, "pwd", folder=folder).is_error


def test_its_input_is_empty_and_there_is_no_terminal(ground: Ground, tmp_path: Path) -> None:
    assert shell(ground, tmp_path, "cat; read line </dev/tty || echo none").text.endswith(
        "none\n[exit code 0]"
    )


def test_a_command_over_its_time_is_ended(ground: Ground, tmp_path: Path) -> None:
    result = shell(ground, tmp_path, "sleep 1000 & wait", limit_s=0.2)

    assert result.is_error
    assert result.text == "[The command was ended after its 0.2 seconds.]"


def cancelled_once_heard(ground: Ground, workspace: Path, command: str) -> ToolResult:
    """Cancels the command when it says `ready`."""

    async def run() -> ToolResult:
        source = CancelSource()
        heard = Heard()
        call = call_context(workspace, cancel=source.signal, progress=heard.take)
        running = asyncio.ensure_future(call_tool(shell_tool(ground, ShellSettings()), call, command=command))
        await heard.came.wait()
        source.cancel()
        return await running

    return asyncio.run(run())


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "])
def test_a_cancelled_command_ends_with_all_that_it_started_whether_it_wants_to_or_not(
    ground: Ground, tmp_path: Path, trap: str
) -> None:
    command = f"{trap}exec 3>pids; echo pid=$$ >&3; sleep 1000 & echo pid=$! >&3; (echo pid=$BASHPID >&3; sleep 1000; sleep 1000) & "
    result = cancelled_once_heard(ground, tmp_path, f"{command} sleep 0.1; echo ready; wait")

    assert result.is_error
    assert "[The command was ended: the call was cancelled.]" in result.text
    pids = pids_of((tmp_path / "pids").read_text())
    assert len(pids) >= 2
    assert not any(map(_is_there, pids))


def test_a_cancelled_command_may_say_last_words(ground: Ground, tmp_path: Path) -> None:
    command = "trap 'echo last words; exit 7' TERM; echo ready; while true; do sleep 0.01; done"

    assert "last words" in cancelled_once_heard(ground, tmp_path, command).text


DAEMON = """
import os, signal, sys
ready, tell = os.pipe()
if os.fork():
    os.close(tell)
    os.read(ready, 1)
    os._exit(0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.setsid()
if os.fork(): os._exit(0)
print(f"pid={os.getpid()}", flush=True)
if "quiet" in sys.argv:
    for handle in (0, 1, 2): os.close(handle)
os.close(tell)
while True: signal.pause()
"""


@pytest.mark.parametrize("more", ["", "quiet"])
def test_a_daemon_is_found_and_ended_and_said(ground: Ground, tmp_path: Path, more: str) -> None:
    (tmp_path / "daemon.py").write_text(DAEMON)
    result = shell(ground, tmp_path, f"{PYTHON} daemon.py {more}")

    (pid,) = pids_of(result.text)
    assert not _is_there(pid)
    assert f"({pid})" in result.text
    assert "Processes that it left behind were ended" in result.text
    assert not result.is_error


def test_what_is_left_in_the_background_does_not_hold_the_call_up(ground: Ground, tmp_path: Path) -> None:
    result = shell(ground, tmp_path, "sleep 1000 & echo pid=$!")

    (pid,) = pids_of(result.text)
    assert re.search(rf"\[Processes that it left behind were ended: \w+ \({pid}\)\]", result.text)
    assert not _is_there(pid)


def test_processes_of_others_are_left_alone(ground: Ground, tmp_path: Path) -> None:
    other = subprocess.Popen(["sleep", "1000"], env={**os.environ, MARK: "another"}, start_new_session=True)
    try:
        shell(ground, tmp_path, "sleep 1000 & true")
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_cancelled_task_leaves_nothing_behind_either(ground: Ground, tmp_path: Path) -> None:
    async def run() -> list[int]:
        heard = Heard()
        call = call_context(tmp_path, progress=heard.take)
        running = asyncio.ensure_future(
            call_tool(shell_tool(ground, ShellSettings()), call, command="echo pid=$$; sleep 1000")
        )
        await heard.came.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return pids_of(heard.lines[0])

    pids = asyncio.run(run())
    assert pids
    assert not any(map(_is_there, pids))


def test_a_program_that_ends_in_the_middle_of_a_call_kills_it() -> None:
    script = """
import sys, threading
from pathlib import Path
from inspan.agent.tools.processes import ProcessRun
came = threading.Event()
def take(piece):
    print(piece.decode(), end="", flush=True)
    came.set()
run = ProcessRun(["sh", "-c", "trap '' TERM; echo pid=$$; sleep 1000; sleep 1000"], folder=Path("."), environment={}, limit_s=900,
                 stop=threading.Event())
threading.Thread(target=run.run, args=(take,), daemon=True).start()
came.wait()
"""
    ended = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True, check=True, timeout=60)

    (pid,) = pids_of(ended.stdout)
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=30)
    assert not _is_there(pid)


def test_a_hundred_megabytes_are_cut_in_the_middle_and_kept_in_a_bounded_file(tmp_path: Path) -> None:
    ground = make_ground(spill_limit_bytes=1_000_000, output_limit_chars=10_000)
    try:
        result = shell(
            ground, tmp_path, "echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last"
        )

        assert result.text.startswith("first\n")
        assert result.text.endswith("last\n[exit code 0]")
        assert len(result.text) < 11_000
        (path,) = re.findall(r"the first 1,000,000 bytes of it all are in (\S+) ", result.text)
        assert os.path.getsize(path) == 1_000_000
        assert os.stat(path).st_mode & 0o777 == 0o600
    finally:
        ground.spills.close()
    assert not os.path.exists(path)


def test_the_whole_of_a_long_output_can_be_read_by_its_own_session_alone(
    ground: Ground, tmp_path: Path
) -> None:
    result = shell(ground, tmp_path, "seq 1 100000")
    (path,) = re.findall(r"all of it is in (\S+) ", result.text)
    read = read_tool(ground)

    assert "50000" not in result.text
    assert run_tool(read, tmp_path, path=path, start_line=50_000, max_lines=1).text.startswith(
        " 50000\t50000"
    )
    assert run_tool(read, tmp_path, path=path, session="s_other").is_error
    written = shell(ground, tmp_path, "echo mine").text
    assert written == "mine\n[exit code 0]"


def test_a_result_is_whole_where_the_file_cannot_be_made(tmp_path: Path) -> None:
    ground = make_ground(output_limit_chars=1000)
    ground.spills.close()

    result = shell(ground, tmp_path, "seq 1 100000")
    assert result.text.startswith("1\n2\n")
    assert "bytes were left out here …]" in result.text


@pytest.mark.parametrize("command", ["a\0b", "\ud800", "x" * 3_000_000])
def test_a_command_that_cannot_be_started_is_told(ground: Ground, tmp_path: Path, command: str) -> None:
    assert shell(ground, tmp_path, command).is_error


def test_the_longest_time_is_the_settings_one(ground: Ground, tmp_path: Path) -> None:
    settings = ShellSettings(default_limit_s=1000, longest_limit_s=0.3)

    assert "0.3 seconds" in shell(ground, tmp_path, "sleep 1000", settings, limit_s=5000).text
    assert "0.3 seconds" in shell(ground, tmp_path, "sleep 1000", settings).text


def test_a_command_that_closes_its_output_is_still_waited_for(ground: Ground, tmp_path: Path) -> None:
    assert shell(ground, tmp_path, "exec >&- 2>&-; sleep 0.3; touch done; exit 4").text == "[exit code 4]"
    assert (tmp_path / "done").exists()


def test_secrets_of_the_agent_do_not_reach_a_command(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret-1")
    monkeypatch.setenv("DATABASE_URL", "postgres://me:secret-2@host/db")
    monkeypatch.setenv("INSPAN_ANYTHING", "secret-3")
    monkeypatch.setenv("HARMLESS", "plain")

    text = shell(ground, tmp_path, "env").text
    assert "secret-" not in text
    assert "HARMLESS=plain" in text
    assert "GIT_TERMINAL_PROMPT=0" in text
    kept = ShellSettings(keep=("SOME_*",), only=("PATH",), variables={"MINE": "1"})
    text = shell(ground, tmp_path, "env", kept).text
    assert "secret-1" in text
    assert "HARMLESS" not in text
    assert "MINE=1" in text


@pytest.mark.parametrize(
    "name",
    ["OPENAI_API_KEY", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "NPM_AUTH", "MY_CREDENTIALS", "npm_config_authtoken",
     "PGPASSWORD", "SENTRY_DSN", "SESSION_COOKIE", "GH_PAT", "SSH_KEY", "APIKEY", "STRIPE_KEY"],
)  # fmt: skip
def test_a_variable_with_the_name_of_a_secret_is_one(name: str) -> None:
    assert is_secret(name, "x")


@pytest.mark.parametrize(
    ("name", "value"),
    [("PATH", "/bin"), ("HOME", "/home/me"), ("SSH_AUTH_SOCK", "/run/agent"), ("PWD", "/x"), ("KEYBOARD", "de"), ("AUTHOR", "me"),
     ("MONKEY", "1"), ("PASSAGE", "1"), ("LS_COLORS", "di=01"), ("GOPROXY", "https://proxy.example"), ("TOKENIZERS", "1")],
)  # fmt: skip
def test_an_ordinary_variable_is_none(name: str, value: str) -> None:
    assert is_secret(name, value) is (name == "TOKENIZERS")  # better one too many than one too few


@pytest.mark.parametrize(
    "value",
    ["https://u:p@host", "-----BEGIN RSA PRIVATE KEY-----", "ghp_0123456789abcdef", "sk-0123456789abcdef"],
)
def test_a_variable_with_the_value_of_a_secret_is_one(value: str) -> None:
    assert is_secret("HARMLESS", value)


def test_a_file_that_would_run_before_each_command_is_not_taken_over() -> None:
    assert "BASH_ENV" not in command_environment({"BASH_ENV": "x", "A": "b"}, ShellSettings(keep=("*",)))


@given(st.lists(st.binary(max_size=40), max_size=30), st.integers(4, 60))
def test_any_output_in_any_pieces_is_bounded_and_counted(pieces: list[bytes], limit: int) -> None:
    spills = Spills()
    output = CommandOutput(spills, "s_1", limit_bytes=limit, spill_bytes=100)
    for piece in pieces:
        output.take(piece)
    whole = b"".join(pieces)
    text = output.close()
    try:
        text.encode()
        if len(whole) <= limit:
            assert text == clean_output(whole)
        else:
            (left_out,) = re.findall(r"\[… ([\d,]+) of ", text)
            assert int(left_out.replace(",", "")) == len(whole) - limit
            folder = spills.folder_of("s_1")
            assert folder is not None
            (file,) = folder.iterdir()
            assert file.read_bytes() == whole[:100]
    finally:
        spills.close()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\x1b[31mred\x1b[0m\x1b]0;title\x07!", "red!"),
        (b"10%\r50%\r100%\ndone\r\n", "100%\ndone\n"),
        (b"a\x00b\x08\tc", "ab\tc"),
        (b"\xff", "\ufffd"),
    ],
)
def test_controls_are_taken_out_of_output(data: bytes, text: str) -> None:
    assert clean_output(data) == text


@given(st.binary(max_size=200))
def test_no_output_keeps_a_control_but_tab_and_newline(data: bytes) -> None:
    assert not set(clean_output(data)) & {chr(code) for code in range(32) if chr(code) not in "\t\n"}


def test_a_run_takes_whatever_a_program_writes_in_order() -> None:
    taken: list[bytes] = []
    run = ProcessRun(
        ["seq", "1", "200000"], folder=Path("/"), environment={}, limit_s=60, stop=threading.Event()
    )

    assert run.run(taken.append).exit_code == 0
    assert b"".join(taken).split() == [b"%d" % number for number in range(1, 200_001)]


def _is_there(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_long_outputs_of_two_commands_at_once_are_in_one_folder_which_goes_with_the_agent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spills = Spills()
    make = tempfile.mkdtemp
    paths: list[Path] = []
    second = threading.Event()

    def keep() -> None:
        handle, path = spills.open_file("s_2")
        os.close(handle)
        paths.append(path)

    other = threading.Thread(target=keep)

    def make_slowly(prefix: str) -> str:
        if other.ident is None:
            other.start()
            second.wait(0.2)  # for the other one to be here too, if nothing keeps it
        else:
            second.set()
        return make(prefix=prefix)

    monkeypatch.setattr(tempfile, "mkdtemp", make_slowly)
    handle, path = spills.open_file("s_1")
    os.close(handle)
    other.join()
    assert paths[0].parent.parent == path.parent.parent
    spills.close()
    assert not path.exists()
    assert not paths[0].exists()
