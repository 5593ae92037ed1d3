"""Plugins with code: absent, refusing, failing, hanging, dying; here and in a process of their own."""

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from inspan.host import HarnessHost, Placement
from inspan.host.plugin_process import ProcessPlugin, ProcessTimes
from inspan.model.errors import InspanError
from inspan.model.plan import LaunchRequest
from inspan.model.posture import Posture
from inspan.model.turn import CallError
from inspan.plugin import (
    HistoryQuery,
    LaunchQuery,
    Nothing,
    PluginContext,
    PromptQuery,
    ReadyQuery,
    Teardown,
    UsageAnswer,
)
from inspan.plugin.context import make_context
from support.harness_folders import add_harness, add_plugin, add_program, manifest_text

PLACEMENTS: tuple[Placement, ...] = ("in_process", "own_process")
QUERY = LaunchQuery(seat="one", launch="l_1", mode="acp", workspace="/tmp")

GOOD = """
import asyncio, os, sys
from inspan.plugin import *

class Plugin(ManifestPlugin):
    name = "acme-plugin"
    version = "7"

    async def get_context_usage(self, params):
        print("a print that must not break the wire")
        return UsageAnswer(used_tokens=12, size_tokens=100, source="footer", detail={"percent": 12})

    async def history(self, params):
        raise Refused("the session is open elsewhere", detail={"by": "the terminal"})

    async def deliver(self, params):
        raise Unsupported("this build cannot be typed at")

    async def get_activity(self, params):
        await asyncio.sleep(600)

    async def capture_identity(self, params):
        return {"state": "known"}

    async def cancel(self, params):
        raise ValueError("a bug")

    async def teardown(self, params):
        print("last words", file=sys.stderr, flush=True)
        os._exit(9)
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def add_acme(home: Path, source: str | None = GOOD, *, top: str = 'plugin = "plugin.py"') -> Path:
    folder = add_harness(home / "harnesses", "acme", manifest_text(top=top))
    if source is not None:
        add_plugin(folder, source)
    return folder


def run_with(
    home: Path,
    use: Callable[[HarnessHost], Awaitable[object]],
    *,
    placement: Placement = "by_origin",
    is_trusted: bool = True,
    times: ProcessTimes | None = None,
) -> None:
    """Runs `use` with a host, and sees that no plugin process is left."""

    async def run() -> None:
        environ = {"PATH": os.environ["PATH"], "HOME": str(home)}
        async with HarnessHost(home, environ=environ, placement=placement, times=times) as host:
            if is_trusted:
                host.trust_harness("acme")
            await use(host)

    asyncio.run(run())


async def fails_with(code: str, call: Awaitable[object]) -> InspanError:
    with pytest.raises(InspanError) as caught:
        await call
    assert caught.value.code == code, caught.value
    return caught.value


@pytest.mark.requirement("H-B4", "H-B5", "H-N57")
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_an_absent_operation_a_refused_request_and_an_absent_plugin_are_three_answers(
    home: Path, placement: Placement
) -> None:
    folder = add_acme(home)

    async def use(host: HarnessHost) -> None:
        absent = await fails_with("unsupported_capability", host.ask("acme", "inspect_process", Nothing()))
        refused = await fails_with(
            "plugin_refused", host.ask("acme", "history", HistoryQuery(session_id="s", workspace="/"))
        )
        assert absent.message == "The harness does not offer this operation."
        assert "a name proves nothing" in absent.detail["explanation"]
        assert refused.detail == {"reason": "the session is open elsewhere", "by": "the terminal"}

        (folder / "plugin.py").unlink()
        missing = await fails_with("plugin_missing", host.ask("acme", "history", Nothing()))
        assert missing.detail["file"] == str(folder / "plugin.py")
        assert host.registry.manifest("acme").name == "Acme"
        assert host.view("acme").plugin == "missing"

    run_with(home, use, placement=placement)


@pytest.mark.requirement("H-B4")
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_plugin_explains_in_its_own_words_what_it_does_not_offer(home: Path, placement: Placement) -> None:
    add_acme(home)

    async def use(host: HarnessHost) -> None:
        query = PromptQuery(launch=QUERY, delivery="d_1", text="x")
        error = await fails_with("unsupported_capability", host.ask("acme", "deliver", query))
        assert error.message == "The harness does not offer this operation."
        assert error.hint == "this build cannot be typed at"

    run_with(home, use, placement=placement)


@pytest.mark.requirement("H-B1", "H-B2", "H-B6", "H-B8")
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_plugin_answers_in_our_words_with_details_of_its_own(home: Path, placement: Placement) -> None:
    add_acme(home)

    async def use(host: HarnessHost) -> None:
        usage = await host.ask("acme", "get_context_usage", QUERY)
        assert usage == UsageAnswer(used_tokens=12, size_tokens=100, source="footer", detail={"percent": 12})

    run_with(home, use, placement=placement)


@pytest.mark.requirement("H-B6", "H-C1")
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_an_answer_without_a_normalised_status_is_the_plugins_fault(home: Path, placement: Placement) -> None:
    source = GOOD.replace('return {"state": "known"}', "return Nothing()")
    add_acme(home, source)

    async def use(host: HarnessHost) -> None:
        error = await fails_with("plugin_failed", host.ask("acme", "capture_identity", QUERY))
        assert "Identity" in error.message

    run_with(home, use, placement=placement)


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_bug_in_a_plugin_is_a_typed_failure_and_the_plugin_goes_on(
    home: Path, placement: Placement
) -> None:
    add_acme(home)

    async def use(host: HarnessHost) -> None:
        error = await fails_with("plugin_failed", host.ask("acme", "cancel", QUERY))
        assert "ValueError: a bug" in error.message
        assert await host.ask("acme", "get_context_usage", QUERY)

    run_with(home, use, placement=placement)


@pytest.mark.requirement("H-B3")
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_plugin_that_does_not_answer_in_time_is_given_up_and_can_be_asked_again(
    home: Path, placement: Placement
) -> None:
    add_acme(home)

    async def use(host: HarnessHost) -> None:
        assert await host.ask("acme", "get_context_usage", QUERY)
        pid = host.plugin_pid("acme")
        await fails_with("plugin_timeout", host.ask("acme", "get_activity", QUERY, deadline_s=0.05))
        assert await host.ask("acme", "get_context_usage", QUERY)
        assert host.plugin_pid("acme") == pid

    run_with(home, use, placement=placement)


def test_a_plugin_process_that_is_stuck_is_ended_and_started_anew(home: Path) -> None:
    add_acme(home, GOOD.replace("await asyncio.sleep(600)", "import time; time.sleep(600)"))

    async def use(host: HarnessHost) -> None:
        assert await host.ask("acme", "get_context_usage", QUERY)
        pid = host.plugin_pid("acme")
        await fails_with("plugin_timeout", host.ask("acme", "get_activity", QUERY, deadline_s=0.05))
        assert await host.ask("acme", "get_context_usage", QUERY)
        assert host.plugin_pid("acme") != pid

    run_with(home, use, times=ProcessTimes(cancel_s=0.1, stop_s=1.0))


def test_a_plugin_process_that_dies_fails_its_request_and_is_started_again(home: Path) -> None:
    add_acme(home)

    async def use(host: HarnessHost) -> None:
        ask = host.ask("acme", "teardown", Teardown(seat="one", is_deleted=False))
        error = await fails_with("plugin_failed", ask)
        assert "status 9" in error.message
        assert "last words" in error.message
        assert not error.retry_safe
        assert await host.ask("acme", "get_context_usage", QUERY)

    run_with(home, use)


def test_a_plugin_process_that_keeps_dying_is_not_started_again_at_once(home: Path) -> None:
    add_acme(home, "import os, sys\nprint('no luck', file=sys.stderr, flush=True)\nos._exit(5)\n")

    async def use(host: HarnessHost) -> None:
        for _ in range(2):
            error = await fails_with("plugin_failed", host.ask("acme", "get_context_usage", QUERY))
            assert "status 5" in error.message
        error = await fails_with("plugin_failed", host.ask("acme", "get_context_usage", QUERY))
        assert "number 2 in a row" in error.message
        assert "It may be started again in" in error.hint

    run_with(home, use, times=ProcessTimes(first_backoff_s=600, max_backoff_s=600))


def test_a_killed_plugin_process_is_started_again_after_its_backoff(home: Path) -> None:
    add_acme(home)

    async def use(host: HarnessHost) -> None:
        pids: set[int] = set()
        for _ in range(3):
            assert await host.ask("acme", "get_context_usage", QUERY)
            pid = host.plugin_pid("acme")
            assert pid is not None
            pids.add(pid)
            os.kill(pid, signal.SIGKILL)
            await until(lambda: host.plugin_pid("acme") is None)
        assert len(pids) == 3

    run_with(home, use)


@pytest.mark.requirement("H-H7")
def test_a_plugin_process_ends_with_its_host_and_none_is_adopted(home: Path) -> None:
    add_acme(home)
    pids: list[int] = []

    async def use(host: HarnessHost) -> None:
        assert await host.ask("acme", "get_context_usage", QUERY)
        pid = host.plugin_pid("acme")
        assert pid is not None
        pids.append(pid)
        assert os.getpgid(pids[-1]) == pids[-1] != os.getpgid(0)

    run_with(home, use)
    run_with(home, use)

    assert len(set(pids)) == 2
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


@pytest.mark.requirement("H-B5", "H-B23", "H-H6")
@pytest.mark.parametrize("version", ["2", '"one"'])
def test_a_plugin_of_another_protocol_version_is_refused(home: Path, tmp_path: Path, version: str) -> None:
    program = add_program(
        tmp_path,
        "old-plugin",
        "import sys\nsys.stdin.readline()\n"
        f"""print('{{"jsonrpc":"2.0","id":1,"result":{{"protocol":{version},"plugin":{{"name":"old"}}}}}}', flush=True)\n"""
        "sys.stdin.read()\n",
    )

    async def use() -> None:
        plugin = ProcessPlugin("acme", context_of(home), command=(str(program),), environ=dict(os.environ))
        error = await fails_with("plugin_incompatible", plugin.ask("probe", Nothing()))
        assert "protocol" in str(error) or "handshake" in str(error)
        assert plugin.pid is None
        await plugin.close()

    asyncio.run(use())


@pytest.mark.parametrize(
    ("source", "code"),
    [
        pytest.param(
            "print('welcome', flush=True)\n__import__('sys').stdin.read()", "plugin_failed", id="chatter"
        ),
        pytest.param("print('x' * 17_000_000, flush=True)", "plugin_failed", id="a frame over the cap"),
        pytest.param("", "plugin_failed", id="ends at once"),
        pytest.param("__import__('sys').stdin.read()", "plugin_timeout", id="says nothing"),
    ],
)
def test_a_program_that_breaks_the_wire_is_ended(home: Path, tmp_path: Path, source: str, code: str) -> None:
    program = add_program(tmp_path, "odd-plugin", source)

    async def use() -> None:
        times = ProcessTimes(initialize_s=3.0, stop_s=1.0)
        plugin = ProcessPlugin(
            "acme", context_of(home), command=(str(program),), environ=dict(os.environ), times=times
        )
        await fails_with(code, plugin.ask("probe", Nothing()))
        assert plugin.pid is None
        await plugin.close()

    asyncio.run(use())


def test_a_plugin_command_that_is_not_there_is_a_missing_plugin(home: Path) -> None:
    async def use() -> None:
        plugin = ProcessPlugin("acme", context_of(home), command=("/no/such/plugin",), environ={})
        await fails_with("plugin_missing", plugin.ask("probe", Nothing()))

    asyncio.run(use())


def test_code_from_outside_runs_only_after_it_was_trusted(home: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    folder = add_acme(home, f"open({str(mark)!r}, 'w').close()\n{GOOD}")

    async def use(host: HarnessHost) -> None:
        await fails_with("plugin_untrusted", host.ask("acme", "get_context_usage", QUERY))
        assert host.view("acme").plugin == "untrusted"
        assert not mark.exists()

        host.trust_harness("acme")
        assert await host.ask("acme", "get_context_usage", QUERY)
        assert host.view("acme").plugin == "ready"
        assert mark.exists()

        first = host.plugin_pid("acme")
        add_plugin(folder, GOOD.replace("used_tokens=12", "used_tokens=13"))
        await fails_with("plugin_untrusted", host.ask("acme", "get_context_usage", QUERY))
        host.trust_harness("acme")
        usage = await host.ask("acme", "get_context_usage", QUERY)
        assert isinstance(usage, UsageAnswer)
        assert usage.used_tokens == 13
        assert host.plugin_pid("acme") != first

    run_with(home, use, is_trusted=False)


def test_running_a_trusted_plugin_changes_nothing_in_its_folder(home: Path) -> None:
    add_acme(home, "import helper_of_acme\n" + GOOD)
    (home / "harnesses" / "acme" / "helper_of_acme.py").write_text("")

    async def use(host: HarnessHost) -> None:
        for _ in range(2):
            assert await host.ask("acme", "get_context_usage", QUERY)

    run_with(home, use)


def test_an_overlay_of_data_alone_needs_no_trust(home: Path) -> None:
    add_harness(home / "harnesses", "acme", manifest_text())

    async def use(host: HarnessHost) -> None:
        error = CallError(code="call_failed", message="x")
        assert await host.classify_error("acme", "acp", error) == error
        assert host.view("acme").plugin == "none"

    run_with(home, use, is_trusted=False)


@pytest.mark.parametrize(
    ("source", "part"),
    [
        pytest.param("x = (", "SyntaxError", id="no Python"),
        pytest.param("raise RuntimeError('at import')", "at import", id="fails at import"),
        pytest.param("class Plugin: pass", "no class Plugin", id="another class"),
        pytest.param("", "no class Plugin", id="nothing"),
    ],
)
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_a_plugin_file_that_cannot_be_loaded_is_a_failed_plugin(
    home: Path, placement: Placement, source: str, part: str
) -> None:
    add_acme(home, source)

    async def use(host: HarnessHost) -> None:
        error = await fails_with("plugin_failed", host.ask("acme", "probe", Nothing()))
        assert part in error.message

    run_with(home, use, placement=placement)


def test_an_error_is_never_hidden_by_a_plugin_that_cannot_classify_it(home: Path) -> None:
    diagnosis = '[[modes.acp.diagnoses]]\nraw_code = 7\ncode = "limited"\ntitle = "Full"\nremedy = "Wait."'
    folder = add_harness(
        home / "harnesses", "acme", manifest_text(top='plugin = "plugin.py"', more=diagnosis)
    )
    add_plugin(folder, "raise RuntimeError")

    async def use(host: HarnessHost) -> None:
        known = CallError(code="call_failed", message="seven", raw_code=7)
        classified = await host.classify_error("acme", "acp", known)
        assert (classified.code, classified.message, classified.hint) == ("limited", "seven", "Full: Wait.")
        other = CallError(code="call_failed", message="eight", raw_code=8)
        assert await host.classify_error("acme", "acp", other) == other
        assert await host.classify_error("nobody", "acp", other) == other
        # A title that the harness's own words say already is not said again.
        said = CallError(code="call_failed", message="The account is full.", raw_code=7)
        assert (await host.classify_error("acme", "acp", said)).hint == "Wait."

    run_with(home, use)


@pytest.mark.requirement("H-B33")
def test_a_plugin_may_change_a_plan_that_data_began(home: Path, tmp_path: Path) -> None:
    add_program(tmp_path / "bin", "acme-agent", "")
    source = """
import msgspec
from inspan.plugin import ManifestPlugin

class Plugin(ManifestPlugin):
    async def launch(self, params):
        plan = await super().launch(params)
        return msgspec.structs.replace(plan, arguments=(*plan.arguments, "--seat", params.seat))
"""
    add_acme(home, source)

    async def use(host: HarnessHost) -> None:
        request = LaunchRequest(
            seat="one",
            harness="acme",
            mode="acp",
            attempt="fresh",
            workspace=str(tmp_path),
            posture=Posture(),
            environment={"PATH": str(tmp_path / "bin")},
        )
        plan = await host.plan(request)
        assert plan.arguments == ("acp", "--seat", "one")

    run_with(home, use)


@pytest.mark.requirement("H-B24", "H-N20")
def test_a_field_that_is_missing_in_the_handshake_is_an_advisory_and_the_seat_is_ready(home: Path) -> None:
    add_harness(home / "harnesses", "acme", manifest_text())

    async def use(host: HarnessHost) -> None:
        whole = ReadyQuery(mode="acp", harness_name="acme", harness_version="1", session_id="s-1")
        ready = await host.check_ready("acme", whole)
        assert (ready.ready, ready.advisories) == ("yes", ())
        nameless = await host.check_ready("acme", ReadyQuery(mode="acp", session_id="s-1"))
        assert nameless.ready == "yes"
        assert [problem.is_fatal for problem in nameless.advisories] == [False, False]
        assert (await host.check_ready("acme", ReadyQuery(mode="acp"))).ready == "no"

    run_with(home, use, is_trusted=False)


def context_of(home: Path) -> PluginContext:
    folder = add_harness(home / "harnesses", "acme", manifest_text())
    manifest = HarnessHost(home, environ={}).registry.manifest("acme")
    return make_context(manifest, folder=str(folder), data_folder=str(home / "data"), environ=os.environ)


async def until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not is_true():
        assert time.monotonic() < deadline, "it never became true"
        await asyncio.sleep(0)
