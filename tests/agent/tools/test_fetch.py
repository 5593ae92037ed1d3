"""The `fetch` tool: public addresses alone, bounded, and no redirect that leads elsewhere."""

import asyncio
import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.agent.cancelling import CancelSource
from inspan.agent.skills.catalogue import SkillCatalogue
from inspan.agent.tools.addresses import is_public
from inspan.agent.tools.builtin import BuiltinTools
from inspan.agent.tools.fetch import fetch_tool
from inspan.agent.tools.page_text import page_text
from inspan.agent.tools.settings import FetchSettings, ToolSettings
from inspan.agent.values import ToolResult
from support.agent_tools import call_context, call_tool, run_tool

HERE = Path("/nowhere")
LOCAL = ("localhost", "127.0.0.1")


class Site(BaseHTTPRequestHandler):
    """Answers by the path that is asked for."""

    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[str]]
    asked_of: threading.Event
    leave: threading.Event

    def do_GET(self) -> None:
        self.asked.append(f"{self.headers['Host']} {self.path}")
        self.asked_of.set()
        port = self.headers["Host"].rpartition(":")[2]
        match self.path.split("?")[0]:
            case "/page":
                self._say(
                    b"<head><title>T</title></head><h1>Head</h1><p>One <a href='/x'>link</a></p><script>no()</script>",
                    "text/html",
                )
            case "/plain":
                self._say("grün".encode("latin-1"), "text/plain; charset=latin-1")
            case "/odd":
                self._say(b"text", "text/plain; charset=nobody-knows")
            case "/binary":
                self._say(b"\x00\x01" * 100, "application/octet-stream")
            case "/missing":
                self._say(b"nothing here", "text/plain", 404)
            case "/hop":
                self._move("/page")
            case "/ring":
                self._move("/ring")
            case "/elsewhere":
                self._move(f"http://127.0.0.1:{port}/page")
            case "/to-file":
                self._move("file:///etc/passwd")
            case "/broken-move":
                self._move("http://[")
            case "/large":
                self.send_response(200)
                self.send_header("Content-Length", str(100_000_000))
                self.end_headers()
                try:
                    for _ in range(1000):
                        self.wfile.write(b"x" * 100_000)
                except OSError:
                    self.close_connection = True
            case "/bomb":
                body = gzip.compress(b"y" * 50_000_000)
                self.send_response(200)
                self.send_header("Content-Encoding", "gzip")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            case _:  # never answers
                self.leave.wait()
                self.close_connection = True

    def _say(self, body: bytes, media_type: str, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _move(self, target: str) -> None:
        self.send_response(302)
        self.send_header("Location", target)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


@pytest.fixture
def site() -> Iterator[tuple[str, type[Site]]]:
    class Own(Site):
        asked: ClassVar[list[str]] = []
        asked_of = threading.Event()
        leave = threading.Event()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Own)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://localhost:{server.server_address[1]}", Own
    Own.leave.set()
    server.shutdown()
    server.server_close()
    thread.join()


def fetch(url: str, raw: bool = False, **settings: Any) -> ToolResult:
    given: dict[str, Any] = {"private_hosts": ("localhost",), **settings}
    tool = fetch_tool(FetchSettings(**given))
    return run_tool(tool, HERE, url=url, raw=raw)


def test_a_page_is_given_as_text_with_its_links(site: tuple[str, type[Site]]) -> None:
    url, own = site
    result = fetch(f"{url}/page#part")

    assert not result.is_error
    assert result.text == f"[200 {url}/page]\n# Head\n\nOne link ({url}/x)"
    assert own.asked == [f"{url.removeprefix('http://')} /page"]
    assert "<script>" in fetch(f"{url}/page", raw=True).text


def test_other_answers_are_given_as_they_are(site: tuple[str, type[Site]]) -> None:
    url, _ = site
    assert fetch(f"{url}/plain").text.endswith("grün")
    assert fetch(f"{url}/odd").text.endswith("text")
    assert "no text" in fetch(f"{url}/binary").text
    missing = fetch(f"{url}/missing")
    assert missing.is_error
    assert missing.text == f"[404 {url}/missing]\nnothing here"


def test_a_redirect_is_followed_on_the_same_host_alone(site: tuple[str, type[Site]]) -> None:
    url, own = site
    assert "# Head" in fetch(f"{url}/hop").text
    own.asked.clear()
    moved = fetch(f"{url}/elsewhere", private_hosts=LOCAL)
    assert moved.is_error
    assert "It has moved (302) to http://127.0.0.1" in moved.text
    assert len(own.asked) == 1
    own.asked.clear()
    assert "more than 5 redirects" in fetch(f"{url}/ring").text
    assert len(own.asked) == 6
    assert "Only http and https" in fetch(f"{url}/to-file").text
    assert fetch(f"{url}/broken-move").is_error


@pytest.mark.parametrize("path", ["large", "bomb"])
def test_an_answer_is_read_up_to_a_size_whatever_it_unpacks_to(
    site: tuple[str, type[Site]], path: str
) -> None:
    result = fetch(f"{site[0]}/{path}", limit_bytes=100_000)

    assert "[Only the first 100,000 bytes were read.]" in result.text
    assert len(result.text) < 52_000


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254",
     "2130706433", "0x7f000001", "127.1", "[fe80::1]", "[fd00::1]", "[64:ff9b::7f00:1]", "100.64.0.1", "224.0.0.1"],
)  # fmt: skip
def test_an_address_that_is_not_public_is_never_asked(site: tuple[str, type[Site]], host: str) -> None:
    url, own = site
    result = fetch(f"http://{host}:{url.rpartition(':')[2]}/page", private_hosts=())

    assert result.is_error
    assert "not public" in result.text or "not known" in result.text
    assert own.asked == []


@pytest.mark.parametrize(
    "url",
    ["", "x", "file:///etc/passwd", "ftp://host/x", "http://", "//host", "http://me:secret@localhost/", "http://[", "javascript:1",
     "http://\x00/", "http://no-such-host.invalid/"],
)  # fmt: skip
def test_what_is_no_fit_address_is_told_without_a_secret(url: str) -> None:
    tool = fetch_tool(FetchSettings(private_hosts=LOCAL))

    async def run() -> ToolResult:
        return await tool.execute({"url": url}, call_context(HERE))

    result = asyncio.run(run())
    assert result.is_error
    assert "secret" not in result.text


def test_a_proxy_of_the_environment_is_not_used(
    site: tuple[str, type[Site]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")

    assert "# Head" in fetch(f"{site[0]}/page").text


def test_a_site_that_never_answers_is_left_when_the_time_is_up_or_the_call_is_cancelled(
    site: tuple[str, type[Site]],
) -> None:
    url, own = site

    async def run() -> ToolResult:
        source = CancelSource()
        call = call_context(HERE, cancel=source.signal)
        running = asyncio.ensure_future(
            call_tool(fetch_tool(FetchSettings(private_hosts=LOCAL, limit_s=3600)), call, url=f"{url}/hang")
        )
        await asyncio.to_thread(own.asked_of.wait)
        source.cancel()
        return await running

    assert "cancelled" in asyncio.run(run()).text
    assert "no answer in 0.2 s" in fetch(f"{url}/hang", limit_s=0.2).text


def test_it_is_off_unless_it_is_configured(tmp_path: Path) -> None:
    skills = SkillCatalogue(workspace=tmp_path)
    usual = BuiltinTools(ToolSettings(), skills)
    wanted = BuiltinTools(ToolSettings(fetch=FetchSettings(), shell=None), skills)

    assert [tool.name for tool in usual.tools] == [
        "read",
        "write",
        "edit",
        "list",
        "search",
        "shell",
        "todo",
        "skill",
    ]
    assert [tool.name for tool in wanted.tools if tool.name in ("shell", "fetch")] == ["fetch"]
    assert {tool.name for tool in (*usual.tools, *wanted.tools) if tool.read_only} == {
        "read",
        "list",
        "search",
        "skill",
    }
    assert {tool.name for tool in usual.tools if tool.session_local} == {"todo"}


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "::ffff:8.8.8.8"])
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


@given(st.ip_addresses(v=4))
def test_an_address_inside_another_is_judged_as_itself(address: Any) -> None:
    number = int(address)
    for outer in (
        f"::ffff:{address}",
        f"64:ff9b::{number >> 16:x}:{number & 0xFFFF:x}",
        f"2002:{number >> 16:x}:{number & 0xFFFF:x}::1",
    ):
        assert is_public(outer) == is_public(str(address))


@given(st.text("<>/ab!&;-[]\"'= #?", max_size=60))
def test_any_text_can_be_read_as_a_page(html: str) -> None:
    page_text(html, "http://host/")


def test_a_page_keeps_its_lines_lists_and_code() -> None:
    html = "<head><title>t</title><body><ul><li>a<li>b</ul><pre>x\n  y</pre><table><tr><td>1<td>2</table>a&amp;b<a href='#x'>y</a>"

    assert page_text(html, "http://host/") == "- a\n- b\n\nx\n  y\n\n| 1 | 2\na&by"
