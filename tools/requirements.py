"""Print the table of requirements: each id, its state, and the tests that back it.

Ends with status 1 when registry and tests disagree, so that it can stand in a script.
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from requirement_registry import (
    SLICES,
    STATES,
    Mark,
    RegistryError,
    Requirement,
    State,
    collect_marks,
    find_problems,
    parse_registry,
    with_states,
)

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parent.parent


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit status: 0 all agree, 1 they disagree, 2 wrong arguments."""
    options = _parser().parse_args(argv)
    tests: Path = options.tests
    registry = tests / "requirements.toml"
    try:
        text = registry.read_text(encoding="utf-8")
        requirements = parse_registry(text)
        marks = collect_marks(tests)
    except (OSError, SyntaxError) as error:
        print(f"cannot read {tests}: {error}", file=sys.stderr)
        return 2
    except RegistryError as error:
        print("\n".join(f"{registry}: {problem}" for problem in error.problems), file=sys.stderr)
        return 1
    backing = _backing(marks)
    if options.met_from_tests:
        newly: dict[str, State] = {
            one.id: "met" for one in requirements.values() if one.state == "planned" and one.id in backing
        }
        registry.write_text(with_states(text, newly), encoding="utf-8")
        print(f"{len(newly)} now met: {' '.join(newly) or '(none)'}")
        requirements = parse_registry(registry.read_text(encoding="utf-8"))
    chosen = [
        one
        for one in requirements.values()
        if (options.slice is None or options.slice in one.slices)
        and (options.state is None or options.state == one.state)
    ]
    _print_table(chosen, backing, is_every_test_shown=options.all_tests)
    problems = find_problems(requirements, marks)
    for problem in problems:
        print(f"problem: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="requirements", description="Print the requirements with state and tests."
    )
    parser.add_argument("--slice", choices=SLICES, help="only what this piece of work names")
    parser.add_argument("--state", choices=STATES, help="only what is in this state")
    parser.add_argument("--all-tests", action="store_true", help="name every test, not only the first")
    parser.add_argument(
        "--met-from-tests",
        action="store_true",
        help="rewrite planned to met where a test is marked; read each such test before you commit it",
    )
    parser.add_argument("--tests", type=Path, default=_ROOT / "tests", help=argparse.SUPPRESS)
    return parser


def _backing(marks: Iterable[Mark]) -> dict[str, list[str]]:
    tests: defaultdict[str, list[str]] = defaultdict(list)
    for mark in marks:
        if not mark.problem and mark.test not in tests[mark.requirement_id]:
            tests[mark.requirement_id].append(mark.test)
    return {name: found for name, found in tests.items() if found}


def _print_table(
    chosen: Sequence[Requirement], backing: Mapping[str, Sequence[str]], *, is_every_test_shown: bool
) -> None:
    for one in chosen:
        tests = backing.get(one.id, ())
        shown = tests if is_every_test_shown else tests[:1]
        more = f" (+{len(tests) - 1})" if len(tests) > 1 and not is_every_test_shown else ""
        print(f"{one.id:<6} {one.state:<8} {shown[0] + more if shown else one.reason or '-'}")
        for test in shown[1:]:
            print(f"{'':<15} {test}")
    counts = Counter(one.state for one in chosen)
    progress = sum(1 for one in chosen if one.state == "planned" and one.id in backing)
    states = ", ".join(f"{counts[state]} {state}" for state in STATES)
    print(f"{len(chosen)} requirements: {states}; {progress} of the planned have a test already")


if __name__ == "__main__":
    sys.exit(main())
