import pytest

from inspan.cli.amounts import counted, lasting


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 prompts"), (1, "1 prompt"), (2, "2 prompts"), (21, "21 prompts")]
)
def test_things_are_counted_in_their_number(count: int, words: str) -> None:
    assert counted(count, "prompt") == words


def test_an_irregular_plural_is_named() -> None:
    assert counted(2, "entry", "entries") == "2 entries"


@pytest.mark.parametrize(
    ("duration_s", "words"),
    [
        (0, "0 s"),
        (0.5, "0.5 s"),
        (59, "59 s"),
        (60, "1 min"),
        (90, "1 min 30 s"),
        (90.5, "90.5 s"),
        (3600, "1 h"),
        (3605, "1 h"),
        (5400, "1 h 30 min"),
        (86400, "1 d"),
        (90000, "1 d 1 h"),
        (7 * 86400, "7 d"),
    ],
)
def test_a_length_of_time_is_said_in_its_two_largest_units(duration_s: float, words: str) -> None:
    assert lasting(duration_s) == words
