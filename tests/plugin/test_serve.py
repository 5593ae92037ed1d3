"""A harness's folder served as a process: the handshake, requests side by side, cancellation, the end of input."""

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from support.harness_folders import add_harness, add_plugin, manifest_text

HOST = {"name": "test", "version": "1"}
SLOW = """
import asyncio, sys
from inspan.plugin import *

class Plugin(ManifestPlugin):
    async def get_activity(self, params):
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            print("cleaned up", file=sys.stderr, flush=True)
            raise

    async def get_context_usage(self, params):
        print("noise on the standard output")
        import subprocess
        subprocess.run([sys.executable, "-c", "print('noise of a child')"], check=True)
        return UsageAnswer(used_tokens=1)
"""


class Wire:
    """One plugin process, spoken to by plain lines."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self._next = 0

    def send(self, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def request(self, method: str, params: dict[str, Any] | None = None) -> int:
        self._next += 1
        self.send(id=self._next, method=method, params=params or {})
        return self._next

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the plugin ended"
        return json.loads(line)

    def call(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        key = self.request(method, params)
        answer = self.receive()
        assert answer["id"] == key
        return answer

    def initialize(self) -> dict[str, Any]:
        return self.call("initialize", {"protocol": 1, "host": HOST})


@contextmanager
def served(folder: Path) -> Generator[Wire]:
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "inspan.plugin", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield Wire(process)
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = add_harness(tmp_path, "acme", manifest_text(top='plugin = "plugin.py"'))
    add_plugin(folder, SLOW)
    return folder


@pytest.mark.requirement("H-B2", "H-B3", "H-B23")
def test_a_folder_of_data_alone_can_be_served(tmp_path: Path) -> None:
    folder = add_harness(tmp_path, "acme", manifest_text())

    with served(folder) as wire:
        result = wire.initialize()["result"]
        manifest = wire.call("get_manifest")["result"]

    assert (result["protocol"], result["plugin"]) == (1, {"name": "acme"})
    assert {"launch", "resume", "probe", "classify_error"} <= set(result["methods"])
    assert "deliver" not in result["methods"]
    assert result["why_unsupported"]["deliver"] == "The transport delivers prompts."
    assert manifest["id"] == "acme"


@pytest.mark.requirement("H-B23", "H-H6")
def test_another_version_of_the_protocol_is_refused_and_the_right_one_may_follow(folder: Path) -> None:
    with served(folder) as wire:
        refused = wire.call("initialize", {"protocol": 2, "host": HOST})["error"]
        assert refused["data"]["code"] == "plugin_incompatible"
        assert refused["data"]["detail"] == {"theirs": 2, "ours": 1}
        assert "result" in wire.initialize()


def test_nothing_is_answered_before_the_handshake(folder: Path) -> None:
    with served(folder) as wire:
        assert wire.call("probe")["error"]["data"]["code"] == "plugin_incompatible"


@pytest.mark.requirement("H-B4")
def test_an_unknown_method_is_answered_and_the_plugin_goes_on(folder: Path) -> None:
    with served(folder) as wire:
        wire.initialize()
        error = wire.call("make_coffee")["error"]
        assert error["code"] == -32601
        assert error["data"]["code"] == "unsupported_capability"
        assert "result" in wire.call("get_manifest")


def test_wrong_parameters_and_lines_that_are_no_message_are_answered(folder: Path) -> None:
    with served(folder) as wire:
        wire.initialize()
        assert wire.call("history", {"limit": "many"})["error"]["code"] == -32602
        assert wire.process.stdin is not None
        wire.process.stdin.write(b"this is no JSON\n")
        wire.process.stdin.flush()
        assert wire.receive()["error"]["code"] == -32700
        wire.send(method="some/notification", params={})
        assert "result" in wire.call("get_manifest")


def test_what_a_plugin_and_its_children_print_does_not_reach_the_wire(folder: Path) -> None:
    query = {"seat": "a", "launch": "l", "mode": "acp", "workspace": "/"}
    with served(folder) as wire:
        wire.initialize()
        assert wire.call("get_context_usage", query)["result"] == {"used_tokens": 1}
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        assert wire.process.stderr is not None
        said = wire.process.stderr.read().decode()

    assert "noise on the standard output" in said
    assert "noise of a child" in said


@pytest.mark.requirement("H-B3")
def test_a_request_is_cancelled_while_others_are_answered(folder: Path) -> None:
    query = {"seat": "a", "launch": "l", "mode": "acp", "workspace": "/"}
    with served(folder) as wire:
        wire.initialize()
        slow = wire.request("get_activity", query)
        assert "result" in wire.call("get_manifest")
        wire.send(method="$/cancel_request", params={"id": slow})
        answer = wire.receive()
        assert (answer["id"], answer["error"]["data"]["code"]) == (slow, "plugin_timeout")
        wire.send(method="$/cancel_request", params={"id": slow})
        assert "result" in wire.call("get_manifest")


def test_the_end_of_input_ends_the_process_and_what_it_does(folder: Path) -> None:
    query = {"seat": "a", "launch": "l", "mode": "acp", "workspace": "/"}
    with served(folder) as wire:
        wire.initialize()
        wire.request("get_activity", query)
        assert "result" in wire.call("get_manifest")
        assert wire.process.stdin is not None
        wire.process.stdin.close()
        assert wire.process.wait(timeout=20) == 0
        assert wire.process.stderr is not None
        assert b"cleaned up" in wire.process.stderr.read()


@pytest.mark.requirement("H-H5")
def test_a_host_that_sends_a_frame_over_the_cap_is_cut(folder: Path) -> None:
    with served(folder) as wire:
        assert wire.process.stdin is not None
        with suppress(BrokenPipeError):
            for _ in range(17):
                wire.process.stdin.write(b"x" * 1024 * 1024)
            wire.process.stdin.flush()
        assert wire.process.wait(timeout=20) == 1
        assert wire.process.stderr is not None
        assert b"over 16777216 bytes" in wire.process.stderr.read()


def test_a_command_line_without_a_folder_is_refused() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "inspan.plugin", "/no/such/folder"], capture_output=True, check=False
    )

    assert done.returncode == 2
    assert b"usage" in done.stderr
