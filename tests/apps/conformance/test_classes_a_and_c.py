"""The checks of classes A and C hold for our server, and each of them fails for an app that is wrong in one way."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from inspan.apps.conformance.__main__ import main
from inspan.apps.conformance.reference import (
    FULL_TOKEN,
    READONLY_TOKEN,
    make_reference_app,
    queue_work,
    write_folder,
)
from inspan.apps.conformance.runner import Outcome, Target, run_class
from inspan.apps.conformance.suite import built_in_classes, load_class, read_class
from inspan.model.errors import UsageError
from support.apps.served import Served, serving_asgi
from support.apps.wrong import (
    Change,
    Fault,
    Wrong,
    answering,
    appending,
    cutting,
    dropping,
    padded,
    putting,
    said,
)

TOKENS = {"full": FULL_TOKEN, "readonly": READONLY_TOKEN}
A2APP = (str(Path(sys.executable).with_name("a2app")),)
CARDS = "/api/collections/cards/records"
DESCRIBE = "/api/_a2app/describe"
TASKS = "/api/_a2app/tasks"


OP = "/api/ops/"


def get(path: str, change: Change, **about: Any) -> Fault:
    return Fault("GET", path, change, **about)


def post(path: str, change: Change, **about: Any) -> Fault:
    return Fault("POST", path, change, **about)


DONE = answering(200, {"a2app": True, "ok": True, "id": "x"})
SEED = f"{DESCRIBE}/board/cards/card_seed"
ANONYMOUS = ""
WRONG_IN_A: dict[str, Fault] = {
    "identity has the marker, the protocol and the keys that must be there": get("/api/_a2app", dropping("serverNow")),
    "the well-known address gives the same identity": get("/.well-known/a2app.json", putting("app.id", "other")),
    "the root lists modules with counts and access, and no field": get(DESCRIBE, putting("entities", ["cards"]), token=FULL_TOKEN, query=""),
    "the root fits its budget": get(DESCRIBE, padded, token=FULL_TOKEN, query=""),
    "a module lists names and no schema": get(f"{DESCRIBE}/board", putting("entities.0.fields", {"title": {}})),
    "an entity has its fields and the operations on it with their parameters": get(f"{DESCRIBE}/board/cards", putting("operations.0.params", {})),
    "an operation of an entity is not in the list of its module": get(f"{DESCRIBE}/board", appending("operations", {"name": "finish-card"})),
    "operations keep their declared order and their flags": get(f"{DESCRIBE}/board", putting("operations.0.destructive", False)),
    "a record marks each operation as available for it": get(SEED, putting("label", "card_seed")),
    "a record takes a change that will block an operation": Fault("PATCH", f"{CARDS}/card_seed", putting("done", False), body="true"),
    "a blocked operation is shown with the reason that its condition gives": get(SEED, putting("operations", []), answer="blocked"),
    "find gives places by name": get(DESCRIBE, putting("matches.0.path", "cards"), query="find=card"),
    "an unknown module is refused with the modules that there are": get(f"{DESCRIBE}/nope", dropping("modules")),
    "an unknown entity is refused": get(f"{DESCRIBE}/board/nope", said(200)),
    "an unknown relation is refused": get(f"{SEED}/nope", putting("code", "not_found")),
    "a read with a credential gives the records": get("/api/collections/lists/records", cutting("items", 1)),
    "the guard names an unknown field, a bad choice and a word for a date at once": post(CARDS, cutting("violations", 1), body="tomorrow"),
    "a field that is named like a member of every object is unknown": post(CARDS, DONE, body="constructor"),
    "a write to a read-only field is refused": post(CARDS, DONE, body="2020-01-01"),
    "a valid create gives the record as it is stored": post(CARDS, putting("priority", "none"), body="Buy milk"),
    "the first write with an idempotency key is done": post(CARDS, said(201), body="Once only", status=200),
    "a second write with the key is refused and names the record": post(CARDS, putting("id", "x"), body="Once only", status=409),
    "another site's page is refused, before the guard looks": post(CARDS, putting("code", "unknown_field"), answer="forbidden_origin"),
    "a program's write without a credential is refused, with the way to one": post(CARDS, dropping("how"), token=ANONYMOUS),
    "a read-only credential may read": get(CARDS, said(403), token=READONLY_TOKEN),
    "a read-only credential may not write, and hears what is missing": post(CARDS, dropping("required"), token=READONLY_TOKEN),
    "whoami answers a caller without a credential": get("/api/_a2app/whoami", putting("principal", None), token=ANONYMOUS),
    "without a credential the scopes are the reads and the read-only operations": get("/api/_a2app/whoami", cutting("scopes", 2), token=ANONYMOUS),
    "describe says read-only to a caller without a credential": get(DESCRIBE, putting("modules.0.access", "full"), token=ANONYMOUS),
    "an operation that changes something needs a credential": post(f"{OP}finish-card", DONE, token=ANONYMOUS),
    "whoami gives the grant of the credential": get("/api/_a2app/whoami", putting("scopes", ["*"]), token=READONLY_TOKEN),
    "an operation's required argument is missed": post(f"{OP}finish-card", DONE, answer="missing_required"),
    "an operation's undeclared argument is refused": post(f"{OP}finish-card", DONE, body="bogus"),
    "a destructive operation asks for an approval of the exact call": post(f"{OP}archive-board", putting("approvalKey", "yes"), status=428),
    "with the approval it runs": post(f"{OP}archive-board", said(500), status=200),
    "an operation that destroys nothing runs at once": post(f"{OP}count-cards", putting("result", None)),
    "an unknown operation is refused": post(f"{OP}does-not-exist", DONE),
}  # fmt: skip

FOLLOW_IN_A = {
    "the first write with an idempotency key is done": {
        "a second write with the key is refused and names the record"
    },
    "a destructive operation asks for an approval of the exact call": {"with the approval it runs"},
}
"""Checks that need what another one saves, and fail with it."""

WRONG_IN_C: dict[str, Fault] = {
    "events give what was triggered, and a cursor": get("/api/_a2app/events", dropping("nextCursor")),
    "the context has ids and no data": get("/api/_a2app/context", dropping("selected")),
    "the submitted tasks have the one that was triggered": get(TASKS, putting("tasks.0.status", "queued"), answer="summarize", query="status=submitted"),
    "a claimed task is worked at": post(f"{TASKS}/*", putting("claim", None), body="agent", answer="summarize"),
    "a task is claimed once": post(f"{TASKS}/*", said(200), answer="task_not_claimable"),
    "progress is taken from who claimed it": post(f"{TASKS}/*", putting("progress", {}), body="percent"),
    "a completed task is at its end": post(f"{TASKS}/*", putting("status", "working"), body="completed"),
    "an unknown task is not found": post(f"{TASKS}/tsk_nope/claim", said(409)),
    "`tasks next` claims the next task of a capability": post(f"{TASKS}/*", putting("status", "submitted"), answer="handoff"),
    "`tasks next` on an idle queue is no failure": get(TASKS, said(500), query="status=submitted", answer='"tasks":[]'),
}  # fmt: skip

FOLLOW_IN_C = {
    "the submitted tasks have the one that was triggered": {
        "a claimed task is worked at",
        "a task is claimed once",
        "progress is taken from who claimed it",
        "a completed task is at its end",
    },
}


def failed(outcomes: list[Outcome]) -> set[str]:
    return {outcome.name for outcome in outcomes if outcome.status != "passed"}


@pytest.fixture(scope="module")
def wrong_and_served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Wrong, Served]]:
    app = make_reference_app(tmp_path_factory.mktemp("isp-a"))
    wrong = Wrong(app.asgi())
    with serving_asgi(wrong) as served:
        yield wrong, served
    app.close()


def test_the_classes_have_as_many_checks_as_they_are_known_for() -> None:
    assert len(load_class("A").checks) == 37
    assert len(load_class("C").checks) == 10
    assert {"A", "C"} <= set(built_in_classes())


@pytest.mark.requirement("P35")
def test_every_check_of_class_a_holds_for_our_server_and_again_when_it_was_checked_before(
    wrong_and_served: tuple[Wrong, Served],
) -> None:
    wrong, served = wrong_and_served
    wrong.fault = None
    for _ in range(2):
        outcomes = run_class(load_class("A"), Target(url=served.url, tokens=TOKENS))

        assert [outcome for outcome in outcomes if outcome.status != "passed"] == []
        assert len(outcomes) == 37


@pytest.mark.requirement("P35")
@pytest.mark.parametrize("name", [check.name for check in load_class("A").checks])
def test_each_check_of_class_a_fails_for_an_app_that_is_wrong_in_its_one_way(
    wrong_and_served: tuple[Wrong, Served], name: str
) -> None:
    wrong, served = wrong_and_served
    wrong.fault = WRONG_IN_A[name]

    outcomes = run_class(load_class("A"), Target(url=served.url, tokens=TOKENS))

    assert failed(outcomes) == {name} | FOLLOW_IN_A.get(name, set())


def run_c(folder: Path, fault: Fault | None) -> list[Outcome]:
    app = make_reference_app(folder)
    queue_work(app)
    try:
        with serving_asgi(Wrong(app.asgi(), fault)) as served:
            write_folder(folder, served.port)
            target = Target(url=served.url, tokens=TOKENS, app_dir=folder, a2app=A2APP)
            return run_class(load_class("C"), target)
    finally:
        app.close()


@pytest.mark.requirement("P35")
def test_every_check_of_class_c_holds_for_our_server_and_our_program(tmp_path: Path) -> None:
    outcomes = run_c(tmp_path, None)

    assert [outcome for outcome in outcomes if outcome.status != "passed"] == []
    assert len(outcomes) == 10


@pytest.mark.requirement("P35")
@pytest.mark.parametrize("name", [check.name for check in load_class("C").checks])
def test_each_check_of_class_c_fails_for_an_app_that_is_wrong_in_its_one_way(
    tmp_path: Path, name: str
) -> None:
    assert failed(run_c(tmp_path, WRONG_IN_C[name])) == {name} | FOLLOW_IN_C.get(name, set())


def test_without_an_address_our_own_server_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--class", "A"]) == 0
    assert "class A, Core: 37 passed" in capsys.readouterr().out


def test_as_a_program_it_ends_with_1_where_a_check_fails_and_names_it(
    wrong_and_served: tuple[Wrong, Served],
) -> None:
    wrong, served = wrong_and_served
    wrong.fault = WRONG_IN_A["an unknown entity is refused"]

    done = subprocess.run(
        [sys.executable, "-m", "inspan.apps.conformance", served.url, "--class", "A"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "failed: an unknown entity is refused" in done.stdout
    assert "the status is 200, not 404" in done.stdout


def test_without_the_program_its_checks_are_said_to_be_skipped(tmp_path: Path) -> None:
    app = make_reference_app(tmp_path)
    queue_work(app)
    with serving_asgi(app.asgi()) as served:
        outcomes = run_class(load_class("C"), Target(url=served.url, tokens=TOKENS))
    app.close()

    assert [outcome.status for outcome in outcomes].count("skipped") == 2


def test_an_app_that_is_not_there_fails_every_check() -> None:
    outcomes = run_class(load_class("A"), Target(url="http://127.0.0.1:9", tokens=TOKENS))

    assert {outcome.status for outcome in outcomes} == {"failed"}


@pytest.mark.parametrize(
    "text",
    ["", "letter = 1", 'letter = "X"\nname = "x"\ndescription = ""\n[[checks]]\nname = "n"\n[checks.expect]\nstatus = 200\n',
     'letter = "X"\nname = "x"\ndescription = ""\n[[checks]]\nname = "n"\nexpects = {}\n'],
)  # fmt: skip
def test_a_file_that_is_no_class_of_checks_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.toml").write_text(text)

    with pytest.raises(UsageError):
        read_class(tmp_path / "x.toml")
    with pytest.raises(UsageError, match="There is no class"):
        load_class("Q")


def test_an_outcome_is_a_value_that_goes_on_the_wire() -> None:
    outcome = Outcome(name="x", status="failed", problems=("y",))

    assert msgspec.json.decode(msgspec.json.encode(outcome), type=Outcome) == outcome
