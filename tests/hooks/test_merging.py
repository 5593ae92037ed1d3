"""Our entries in an operator's hooks file: put in and taken out again, and nothing else is touched, byte for byte."""

from __future__ import annotations

import json
import random
import string
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspan.hooks.entries import MARKER_BEGIN
from inspan.hooks.json_text import JsonTextError, read_json_text, value_of
from inspan.hooks.merging import MergeError, find_events, merge, unmerge
from inspan.model.hooks import HookInstall

EVENTS = ("Start", "Prompt", "Stop")
PLACE = HookInstall(
    scope="shared",
    path="{config}/settings.json",
    entry='{"hooks": [{"type": "command", "command": "{command}", "timeout": 5}]}',
)
VERSIONED = HookInstall(
    scope="shared", path="{config}/hooks.json", entry='{"command": "{command}"}', preamble={"version": "1"}
)
DEEP = HookInstall(
    scope="shared", path="{config}/x.json", entry='{"command": "{command}"}', under=("settings", "hooks")
)
LINES = HookInstall(
    scope="shared",
    path="{config}/config.toml",
    format="toml",
    entry='[[hooks]]\nevent = "{event}"\ncommand = "{command}"',
)
OWN = HookInstall(
    scope="shared",
    path="{config}/plugins/inspan.js",
    format="file",
    entry="export const {event} = `{command}`;",
)

OPERATORS = [
    "{}",
    "{}\n",
    "  {  }  \n",
    '{"model": "x"}',
    '{\n  "model": "x",\n  "hooks": {}\n}\n',
    '{\r\n\t"hooks": {\r\n\t\t"Stop": [ ]\r\n\t}\r\n}\r\n',
    '{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"say done"}]}],"Other":[1]},"z":[1,2]}',
    '{\n  // mine\n  "hooks": {\n    "Prompt": [\n      {"command": "a"}, /* b */\n    ],\n  },\n}\n',
    '\ufeff{"hooks": {"Prompt": [{"command": "\\u00e9 \\"quoted\\" }]"}]}}',
    '{"a": {"hooks": {"Stop": [1]}}, "hooks": {"Prompt": []}}',
]


@pytest.mark.requirement("H-N7", "H-A30")
@pytest.mark.parametrize("place", [PLACE, DEEP])
@pytest.mark.parametrize("text", OPERATORS)
def test_what_was_put_in_is_taken_out_again_byte_for_byte(place: HookInstall, text: str) -> None:
    merged = merge(place, text, EVENTS)
    assert set(find_events(merged)) == set(EVENTS)
    assert merge(place, merged, EVENTS) == merged, "twice is once"
    assert unmerge(place, merged) == text
    # Whoever reads the file finds each event once with ours in it, and everything that was there.
    found = value_of(merged, read_json_text(merged))
    for key in place.under:
        found = found[key]
    for event in EVENTS:
        ours = [one for one in found[event] if MARKER_BEGIN in json.dumps(one)]
        assert len(ours) == 1


def test_a_new_file_is_read_by_a_plain_reader_and_is_empty_again_afterwards() -> None:
    merged = merge(PLACE, "", EVENTS)
    assert set(json.loads(merged)["hooks"]) == set(EVENTS)
    assert unmerge(PLACE, merged) == "{}\n"
    merged = merge(VERSIONED, "", EVENTS)
    assert json.loads(merged)["version"] == 1
    assert json.loads(unmerge(VERSIONED, merged)) == {"version": 1}


@pytest.mark.requirement("H-N7")
def test_what_an_operator_adds_beside_ours_stays() -> None:
    merged = merge(PLACE, '{"hooks": {}}', EVENTS)
    value = json.loads(merged)
    value["hooks"]["Stop"].append({"command": "theirs"})
    value["hooks"]["Prompt"].insert(0, {"command": "first"})
    value["hooks"]["New"] = [{"command": "another"}]
    edited = json.dumps(value, indent=4)
    left = json.loads(unmerge(PLACE, edited))
    assert left == {
        "hooks": {
            "Stop": [{"command": "theirs"}],
            "Prompt": [{"command": "first"}],
            "New": [{"command": "another"}],
        }
    }


def test_entries_of_an_earlier_version_are_replaced() -> None:
    old = '{"hooks": {"Gone": [{"command": "python -I -S /old/relay.py Gone inspan-hook/0 +array"}]}}'
    merged = merge(PLACE, old, EVENTS)
    assert set(json.loads(merged)["hooks"]) == set(EVENTS)


@pytest.mark.requirement("H-N7")
@pytest.mark.parametrize(
    "text",
    [
        "not json",
        '{"hooks": ',
        '{"hooks": []}',
        '{"hooks": {"Stop": {}}}',
        "[1]",
        '{"a": 1} trailing',
        '{"hooks": {}, "hooks": {"Stop": []}}',
        "[" * 100_000,
        '{"a": tru}',
        "{'a': 1}",
    ],
)
def test_what_cannot_be_read_or_holds_something_else_is_refused(text: str) -> None:
    with pytest.raises(MergeError):
        merge(PLACE, text, EVENTS)


@pytest.mark.requirement("H-N7")
@pytest.mark.parametrize("text", ["", 'model = "x"\n', 'model = "x"', "# only a comment", "[a]\nb = 1\n\n"])
def test_lines_of_toml_are_put_at_the_end_and_taken_out_again(text: str) -> None:
    merged = merge(LINES, text, EVENTS)
    read = tomllib.loads(merged)
    assert [one["event"] for one in read["hooks"]] == list(EVENTS)
    assert merge(LINES, merged, EVENTS) == merged
    assert unmerge(LINES, merged) == text
    later = "[later]\nx = 1\n"
    left = unmerge(LINES, merged + later)
    assert left in (text + later, text + "\n" + later)
    assert tomllib.loads(left) == {**tomllib.loads(text), "later": {"x": 1}}


@pytest.mark.parametrize("text", ["a = ", "hooks = 1\n", "[hooks]\na = 1\n"])
def test_toml_that_is_none_or_would_be_none_is_refused(text: str) -> None:
    with pytest.raises(MergeError):
        merge(LINES, text, EVENTS)


def test_a_file_of_ours_alone_is_never_written_over_one_of_somebody_else_s() -> None:
    merged = merge(OWN, "", EVENTS)
    assert merge(OWN, merged, EVENTS) == merged
    assert unmerge(OWN, merged) == ""
    for call in (lambda: merge(OWN, "export {}", EVENTS), lambda: unmerge(OWN, "export {}")):
        with pytest.raises(MergeError):
            call()


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(string.printable, max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(string.printable, max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)
_HOOKS = st.dictionaries(st.sampled_from([*EVENTS, "Other"]), st.lists(_VALUES, max_size=3), max_size=4)


@pytest.mark.requirement("H-N7")
@given(
    rest=st.dictionaries(st.text(string.ascii_letters, min_size=1, max_size=5), _VALUES, max_size=3),
    hooks=st.none() | _HOOKS,
    seed=st.integers(0, 999),
)
def test_any_file_comes_back_byte_for_byte(
    rest: dict[str, Any], hooks: dict[str, Any] | None, seed: int
) -> None:
    value = {**rest} if hooks is None else {**rest, "hooks": hooks}
    if "hooks" in rest and hooks is None:
        return
    keys = list(value)
    random.Random(seed).shuffle(keys)
    text = json.dumps({key: value[key] for key in keys}, indent=[None, 2, "\t"][seed % 3])
    assert value_of(text, read_json_text(text)) == json.loads(text)
    merged = merge(PLACE, text, EVENTS)
    assert unmerge(PLACE, merged) == text
    read = json.loads(merged)
    assert all(len(read["hooks"][event]) == len((hooks or {}).get(event, [])) + 1 for event in EVENTS)


@given(st.text(alphabet='{}[]":,/* \n\\a1truefalsnul', max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_json_text(text)
    except JsonTextError:
        return
    except RecursionError:
        pytest.fail("too deep for the reader")
