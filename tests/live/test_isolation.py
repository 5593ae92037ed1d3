"""The ground under the live tests: nothing gets out, nothing gets in."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from support.live.arena import Arena
from support.live.netns import Namespace, open_namespace

pytestmark = pytest.mark.live

_CONNECT = """
import errno, json, socket, sys
try:
    socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=30).close()
    print(json.dumps("connected"))
except OSError as error:
    print(json.dumps(errno.errorcode.get(error.errno, str(error))))
"""


def _connect(arena: Arena, host: str, port: int) -> str:
    done = arena.run([sys.executable, "-I", "-c", _CONNECT, host, str(port)])
    return json.loads(done.stdout)


def test_inside_the_namespace_only_the_loopback_is_reachable(arena: Arena) -> None:
    assert _connect(arena, "127.0.0.1", arena.model.port) == "connected"
    # TEST-NET-1 and its IPv6 twin: no route means an error at once, before any packet or timeout.
    assert _connect(arena, "192.0.2.1", 443) == "ENETUNREACH"
    assert _connect(arena, "2001:db8::1", 443) == "ENETUNREACH"


def test_inside_the_namespace_the_loopback_is_the_only_interface(arena: Arena) -> None:
    listing = "import socket; print([name for _, name in socket.if_nameindex()])"
    assert arena.run([sys.executable, "-I", "-c", listing]).stdout.strip() == "['lo']"


def test_no_name_is_resolved_inside_the_namespace(arena: Arena) -> None:
    lookup = "import socket; socket.getaddrinfo('example.com', 443)"
    done = arena.run([sys.executable, "-I", "-c", lookup])
    assert done.returncode == 1
    assert "gaierror" in done.stderr


def test_programs_see_the_given_environment_and_nothing_of_ours(
    arena: Arena, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSPAN_TEST_LEAK", "1")
    listing = "import json, os; print(json.dumps(dict(os.environ)))"
    seen = json.loads(arena.run([sys.executable, "-I", "-c", listing]).stdout)
    seen.pop("LC_CTYPE", None)  # Python itself sets it in a C locale
    assert seen == arena.environment
    assert seen["HOME"].startswith(str(arena.root))


def test_a_namespace_ends_with_everything_in_it_even_after_a_failure(arena: Arena) -> None:
    started: list[tuple[Namespace, subprocess.Popen[bytes]]] = []

    def fail_inside() -> None:
        with open_namespace() as inner:
            sleeper = inner.start(
                ["sleep", "600"], environment=arena.environment, cwd=arena.root, is_piped=False
            )
            started.append((inner, sleeper))
            raise RuntimeError("a test failed here")

    with pytest.raises(RuntimeError, match="a test failed here"):
        fail_inside()
    inner, sleeper = started[0]
    assert sleeper.wait(timeout=10) == -9
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    assert inner.name not in listed
