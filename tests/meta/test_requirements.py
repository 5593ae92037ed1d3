"""The registry of requirements and the marks on tests agree, and the check that says so can fail."""

from pathlib import Path

import pytest

from requirement_registry import (
    SLICES,
    Mark,
    RegistryError,
    Requirement,
    collect_marks,
    find_problems,
    parse_marks,
    parse_registry,
    with_states,
)
from requirements import main

TESTS = Path(__file__).resolve().parents[1]
REGISTRY = TESTS / "requirements.toml"

GOOD_BLOCK = """\
[H-A1]
text = "A need."
state = "planned"
slices = ["end-to-end"]
"""


def test_every_met_requirement_has_a_test_and_every_mark_has_an_entry() -> None:
    problems = find_problems(parse_registry(REGISTRY.read_text(encoding="utf-8")), collect_marks(TESTS))

    assert problems == []


def test_the_registry_names_every_slice() -> None:
    requirements = parse_registry(REGISTRY.read_text(encoding="utf-8")).values()

    assert {name for one in requirements for name in one.slices} == set(SLICES)


@pytest.mark.parametrize(
    ("text", "part_of_the_problem"),
    [
        pytest.param(GOOD_BLOCK + GOOD_BLOCK, "TOML", id="an id stands twice"),
        pytest.param(GOOD_BLOCK.replace("H-A1", "H-A01"), "not an id", id="an id of another form"),
        pytest.param(GOOD_BLOCK.replace("text", "txt"), "unknown key txt", id="an unknown key"),
        pytest.param(GOOD_BLOCK.replace("A need.", ""), "text is to be", id="an empty text"),
        pytest.param(GOOD_BLOCK.replace("planned", "done"), "state 'done'", id="an unknown state"),
        pytest.param(GOOD_BLOCK.replace("planned", "not ours"), "reason", id="not ours without a reason"),
        pytest.param(GOOD_BLOCK + 'reason = "x"\n', "reason", id="a reason that does not belong"),
        pytest.param(GOOD_BLOCK.replace("end-to-end", "later"), "slices", id="an unknown slice"),
        pytest.param("H-A1 = 3\n", "expected a block", id="not a block"),
    ],
)
def test_a_registry_that_is_wrong_in_one_way_is_refused(text: str, part_of_the_problem: str) -> None:
    with pytest.raises(RegistryError, match=part_of_the_problem):
        parse_registry(text)


def test_a_registry_that_is_right_is_read() -> None:
    assert parse_registry(GOOD_BLOCK) == {
        "H-A1": Requirement(id="H-A1", text="A need.", state="planned", slices=("end-to-end",))
    }


DECORATED = """
import pytest
from pytest import mark

pytestmark = pytest.mark.requirement("R1")

@pytest.mark.requirement("R2", "R3")
def test_function(): ...

@mark.requirement("R4")
async def test_coroutine(): ...

@pytest.mark.requirement("R5")
class TestClass:
    pytestmark = [pytest.mark.timeout(3), pytest.mark.requirement("R6")]

    @pytest.mark.requirement("R7")
    def test_method(self): ...

@pytest.mark.parametrize("x", [pytest.param(1, marks=pytest.mark.requirement("R8")), 2])
def test_cases(x): ...

if True:
    CASES = [pytest.param(1, marks=[pytest.mark.requirement("R9")])]

    def test_with_a_sample():
        sample = pytest.mark.requirement("R10")
"""


def test_marks_are_found_wherever_pytest_lets_them_stand() -> None:
    marks = parse_marks(DECORATED, file="tests/test_x.py")

    assert {(mark.requirement_id, mark.test.removeprefix("tests/test_x.py")) for mark in marks} == {
        ("R1", ""),
        ("R2", "::test_function"),
        ("R3", "::test_function"),
        ("R4", "::test_coroutine"),
        ("R5", "::TestClass"),
        ("R6", "::TestClass"),
        ("R7", "::TestClass::test_method"),
        ("R8", "::test_cases"),
        ("R9", ""),
    }
    assert not [mark for mark in marks if mark.problem]


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        pytest.param(
            '@pytest.mark.requirement("R1")\ndef helper(): ...\n', "not make it a test", id="on a helper"
        ),
        pytest.param(
            '@pytest.mark.skip(reason="later")\n@pytest.mark.requirement("R1")\ndef test_x(): ...\n',
            "always skip",
            id="on a test that is always skipped",
        ),
        pytest.param(
            '@pytest.mark.xfail\nclass TestX:\n    @pytest.mark.requirement("R1")\n    def test_x(self): ...\n',
            "always xfail",
            id="in a class that is expected to fail",
        ),
        pytest.param(
            "@pytest.mark.requirement(ID)\ndef test_x(): ...\n", "not a literal", id="with a computed id"
        ),
        pytest.param("@pytest.mark.requirement()\ndef test_x(): ...\n", "no id", id="with no id"),
    ],
)
def test_a_mark_that_backs_nothing_says_why(source: str, problem: str) -> None:
    [mark] = parse_marks(source, file="tests/test_x.py")

    assert problem in mark.problem


@pytest.mark.parametrize(
    ("registry", "marks", "problem"),
    [
        pytest.param(GOOD_BLOCK.replace("planned", "met"), [], "said to be met", id="met without a test"),
        pytest.param(
            GOOD_BLOCK.replace("planned", "met"),
            [Mark(requirement_id="H-A1", test="t", problem="marked, but always skip: it can back nothing")],
            "always skip",
            id="met by a skipped test",
        ),
        pytest.param(
            GOOD_BLOCK, [Mark(requirement_id="H-A2", test="t")], "no entry", id="a mark without an entry"
        ),
        pytest.param(
            GOOD_BLOCK.replace('"planned"', '"not ours"\nreason = "x"'),
            [Mark(requirement_id="H-A1", test="t")],
            "not ours",
            id="a mark on what is not ours",
        ),
    ],
)
def test_registry_and_marks_that_disagree_in_one_way_are_reported(
    registry: str, marks: list[Mark], problem: str
) -> None:
    assert any(problem in found for found in find_problems(parse_registry(registry), marks))


def test_a_mark_on_a_planned_requirement_is_progress_and_no_problem() -> None:
    assert find_problems(parse_registry(GOOD_BLOCK), [Mark(requirement_id="H-A1", test="t")]) == []


def test_changing_states_keeps_every_other_byte() -> None:
    text = "# a comment\n\n" + GOOD_BLOCK + "\n" + GOOD_BLOCK.replace("H-A1", "H-A11")

    assert with_states(text, {"H-A1": "met"}) == text.replace('"planned"', '"met"', 1)


def test_the_table_follows_the_marks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "requirements.toml").write_text(
        GOOD_BLOCK + GOOD_BLOCK.replace("H-A1", "R1").replace("end-to-end", "agent"), encoding="utf-8"
    )
    (tmp_path / "test_x.py").write_text(
        '@pytest.mark.requirement("H-A1")\ndef test_x(): ...\n', encoding="utf-8"
    )

    assert main(["--tests", str(tmp_path), "--slice", "end-to-end"]) == 0
    assert "1 requirements: 1 planned, 0 met, 0 not ours; 1 of the planned" in capsys.readouterr().out
    assert main(["--tests", str(tmp_path), "--met-from-tests"]) == 0
    assert "H-A1   met      " in capsys.readouterr().out
    (tmp_path / "test_x.py").unlink()
    assert main(["--tests", str(tmp_path)]) == 1
    assert "H-A1: said to be met" in capsys.readouterr().err
