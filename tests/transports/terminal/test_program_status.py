"""Status reports (OSC 7501): what is read, what is refused, and what the records add up to."""

from __future__ import annotations

import base64
import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inspan.model.evidence import Source
from inspan.model.permission import NeedsInputKind
from inspan.transports.terminal.ghostty import GhosttyScreen
from inspan.transports.terminal.program_status import Discarded, StatusQuestion, StatusReport, parse_status
from inspan.transports.terminal.screen import ScreenEvent, ScreenReset, ScreenSize, UnknownSequence
from inspan.transports.terminal.status_records import (
    MAX_RECORDS,
    NO_RECORDS,
    StatusRecords,
    apply_report,
    forget_records,
    read_background,
    read_root,
)

AT = datetime(2026, 11, 30, tzinfo=UTC)


def b64(text: str | bytes, *, padded: bool = True) -> str:
    encoded = base64.b64encode(text.encode() if isinstance(text, str) else text).decode()
    return encoded if padded else encoded.rstrip("=")


def read(fields: str) -> StatusReport:
    report = parse_status(f"7501;{fields}".encode())
    assert isinstance(report, StatusReport), report
    return report


def refuse(fields: str | bytes) -> str:
    body = fields.encode() if isinstance(fields, str) else fields
    found = parse_status(b"7501;" + body)
    assert isinstance(found, Discarded), found
    return found.reason


def records_of(*fields: str) -> StatusRecords:
    records = NO_RECORDS
    for number, each in enumerate(fields):
        records = apply_report(records, read(each), at=AT + timedelta(seconds=number))
    return records


def test_the_question_is_known_and_other_sequences_are_left_alone() -> None:
    assert parse_status(b"7501;?") == StatusQuestion()
    for other in (b"7501", b"75010;?", b"133;A", b"", b"9;4;1", b"7502;state=idle"):
        assert parse_status(other) is None


def test_fields_come_in_any_order_and_unknown_ones_are_passed_over() -> None:
    assert read("app=x: state = blocked :kind=question:newer=1:progress=7") == StatusReport(
        state="blocked", kind="question", app="x", progress=7
    )


def test_a_repeated_key_keeps_its_last_value() -> None:
    assert read("state=idle:state=working").state == "working"
    assert "state" in refuse("state=working:state=other")


@pytest.mark.parametrize(
    "fields", ["", "kind=permission", "state", "state=", "state=Idle", "STATE=idle", "state=busy"]
)
def test_a_report_without_a_state_that_is_known_is_discarded(fields: str) -> None:
    assert "state" in refuse(fields)


def test_a_kind_counts_only_with_blocked_and_only_if_it_is_known() -> None:
    assert read("state=working:kind=permission").kind is None
    assert read("state=blocked:kind=coffee").kind is None
    assert read("state=blocked:kind=auth").kind == "auth"


@pytest.mark.parametrize(
    ("value", "progress"), [("0", 0), ("100", 100), ("101", None), ("-1", None), ("5%", None)]
)
def test_progress_is_from_0_to_100(value: str, progress: int | None) -> None:
    assert read(f"state=working:progress={value}").progress == progress


@pytest.mark.parametrize(
    "id", ["", "/", "a//b", "a/", "a b", "ü", "x" * 33, "/".join("abcdefghi"), "/".join(["x" * 20] * 7)]
)
def test_an_id_that_cannot_be_used_discards_the_report_and_never_means_the_root(id: str) -> None:
    assert "id" in refuse(f"state=working:id={id}")


@pytest.mark.parametrize("id", ["a", "A-1_b.c+d", "x" * 32, "/".join("abcdefgh"), "/".join(["x" * 31] * 4)])
def test_an_id_within_the_bounds_is_taken(id: str) -> None:
    assert read(f"state=working:id={id}").id == id


def test_texts_are_read_with_and_without_padding() -> None:
    for padded in (True, False):
        report = read(
            f"state=done:title={b64('a title', padded=padded)}:msg={b64('Ende gut, ä', padded=padded)}"
        )
        assert (report.title, report.message) == ("a title", "Ende gut, ä")


def test_texts_up_to_their_limit_are_taken_and_longer_ones_discard_the_report() -> None:
    assert len(read(f"state=done:title={b64('t' * 192)}").title) == 192
    assert "title" in refuse(f"state=done:title={b64('t' * 193)}")
    assert len(read(f"state=done:msg={b64('m' * 2048)}").message) == 2048
    assert "msg" in refuse(f"state=done:msg={b64('m' * 2049)}")
    assert read("state=done:app=" + "a" * 32).app == "a" * 32
    assert "app" in refuse("state=done:app=" + "a" * 33)


@pytest.mark.parametrize(
    "fields",
    [
        b"state=done:msg=%%%",
        b"state=done:msg=QQ=Q",
        b"state=done:msg=A",
        b"state=done:msg=" + b64(b"\xff\xfe").encode(),
        b"state=done:msg=" + b64("two\nlines").encode(),
        b"state=done:title=" + b64("\x1b[2J").encode(),
        b"state=done:title=" + b64("c1 \x9b").encode(),
        b"state=done:app=\xff",
    ],
)
def test_text_that_could_mislead_discards_the_whole_report(fields: bytes) -> None:
    assert refuse(fields)


def test_invisible_characters_are_taken_out_of_texts() -> None:
    turned = b64("pay\u202eload\u200b")
    assert read(f"state=done:msg={turned}").message == "payload"


def test_a_sequence_over_the_limit_is_discarded_cut_or_not() -> None:
    long = b"7501;state=done:x=" + b"y" * 4096
    assert isinstance(parse_status(long), Discarded)
    assert isinstance(parse_status(b"7501;state=done", is_truncated=True), Discarded)
    assert isinstance(parse_status(b"7501;state=done:x=".ljust(4093, b"y")), StatusReport)


@pytest.mark.parametrize(
    ("fields", "activity", "kind", "is_over"),
    [
        ("state=working", "running", None, False),
        ("state=idle", "idle", None, False),
        ("state=done", "idle", None, True),
        ("state=error", "idle", None, True),
        ("state=blocked", "needs_input", None, False),
        ("state=blocked:kind=permission", "needs_input", NeedsInputKind.PERMISSION, False),
        ("state=blocked:kind=question", "needs_input", NeedsInputKind.QUESTION, False),
        ("state=blocked:kind=auth", "needs_input", NeedsInputKind.LOGIN, False),
    ],
)
def test_the_root_record_becomes_a_claim(
    fields: str, activity: str, kind: NeedsInputKind | None, is_over: bool
) -> None:
    claim = read_root(records_of(fields))
    assert claim is not None
    assert (claim.activity, claim.kind, claim.is_turn_over) == (activity, kind, is_over)
    assert (claim.source, claim.at) == (Source.PROGRAM_STATUS, AT)


def test_an_error_leaves_the_session_idle_with_the_error_kept() -> None:
    claim = read_root(records_of("state=working", f"state=error:msg={b64('quota')}"))
    assert claim is not None
    assert claim.error is not None
    assert (claim.activity, claim.error.message) == ("idle", "quota")


def test_silence_and_clear_claim_nothing() -> None:
    assert read_root(NO_RECORDS) is None
    assert read_root(records_of("state=working", "state=clear")) is None
    assert read_root(records_of("state=working:id=child")) is None


def test_children_are_background_work_and_leave_the_root_alone() -> None:
    records = records_of(
        "state=working", f"state=working:id=a:title={b64('tests')}", "state=blocked:kind=question:id=a/b"
    )
    root = read_root(records)
    assert root is not None
    assert root.activity == "running"
    assert [(work.id, work.title, work.activity, work.kind) for work in read_background(records)] == [
        ("a", "tests", "running", None),
        ("a/b", "", "needs_input", NeedsInputKind.QUESTION),
    ]


def test_clear_takes_a_record_with_all_beneath_it_and_no_neighbour() -> None:
    records = records_of(
        "state=working", "state=idle:id=a", "state=idle:id=a/b", "state=idle:id=ab", "state=clear:id=a"
    )
    assert set(records.records) == {"", "ab"}
    assert records_of("state=working", "state=idle:id=a", "state=clear").records == {}


def test_a_report_replaces_all_that_its_record_said() -> None:
    records = records_of(f"state=error:msg={b64('bad')}", "state=idle")
    claim = read_root(records)
    assert claim is not None
    assert claim.error is None


def test_a_reset_forgets_all_and_the_numbers_go_on() -> None:
    records = records_of("state=working", "state=working:id=a")
    forgotten = forget_records(records)
    assert forgotten.records == {}
    assert forgotten.sequence > records.sequence


def test_records_by_the_thousand_are_bounded_and_the_root_stays() -> None:
    records = apply_report(NO_RECORDS, read("state=working"), at=AT)
    for number in range(3000):
        records = apply_report(records, read(f"state=working:id=n{number}"), at=AT)
    assert len(records.records) == MAX_RECORDS
    assert "" in records.records
    assert "n2999" in records.records


class Folder:
    """Folds what a screen hands out, as a console does."""

    def __init__(self) -> None:
        self.records = NO_RECORDS
        self.discarded = 0

    def __call__(self, event: ScreenEvent) -> bytes:
        match event:
            case ScreenReset():
                self.records = forget_records(self.records)
            case UnknownSequence():
                match parse_status(event.content, is_truncated=event.is_truncated):
                    case StatusReport() as report:
                        self.records = apply_report(self.records, report, at=AT)
                    case Discarded():
                        self.discarded += 1
                    case _:
                        pass
        return b""


FIELDS = st.one_of(
    st.sampled_from(
        ["state=working", "state=idle", "state=clear", "state=blocked:kind=permission", "state=nonsense"]
    ),
    st.builds("state=working:id={}".format, st.sampled_from(["a", "a/b", "ab", "a/b/c", "", "a b"])),
    st.builds("state=clear:id={}".format, st.sampled_from(["a", "a/b"])),
    st.text(max_size=20).map(lambda text: f"state=done:msg={b64(text)}"),
)
STREAM = st.lists(
    st.one_of(
        st.builds("\x1b]7501;{}{}".format, FIELDS, st.sampled_from(["\x07", "\x1b\\"])),
        st.sampled_from(
            ["text", "\x1bc", "\x1b]133;A\x07", "\x1b[2J", "\x1b]0;t\x07", "\x1b[?2026h", "\x1b]7501;"]
        ),
    ),
    max_size=12,
)


@settings(max_examples=80, deadline=None)
@given(parts=STREAM, cuts=st.lists(st.integers(min_value=0, max_value=400), max_size=12))
def test_records_do_not_depend_on_where_the_bytes_are_cut(parts: list[str], cuts: list[int]) -> None:
    written = "".join(parts).encode()
    whole, pieces = Folder(), Folder()
    one = GhosttyScreen(ScreenSize(rows=4, columns=20), on_event=whole)
    many = GhosttyScreen(ScreenSize(rows=4, columns=20), on_event=pieces)
    one.feed(written)
    edges = [0, *sorted(cut for cut in cuts if cut < len(written)), len(written)]
    for begin, end in itertools.pairwise(edges):
        many.feed(written[begin:end])
    assert pieces.records == whole.records
    assert pieces.discarded == whole.discarded
    one.close()
    many.close()


@settings(max_examples=200, deadline=None)
@given(body=st.one_of(st.binary(max_size=200), FIELDS.map(str.encode)))
def test_no_bytes_make_the_reader_fail_or_break_a_bound(body: bytes) -> None:
    found = parse_status(b"7501;" + body)
    assert found is not None
    if isinstance(found, StatusReport):
        assert len(found.id) <= 128
        assert all(
            letter.isprintable() or letter == "\u00a0" or letter > "\u007f" for letter in found.message
        )
