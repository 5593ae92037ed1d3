"""The requirements of `tests/requirements.toml`, the marks that tests carry, and whether the two agree.

Marks are read from the syntax tree, never by importing: so live and fault tests count, and a broken import
elsewhere does not hide one. A mark is `pytest.mark.requirement("ID", ...)` as a decorator of a test function or
a test class, in `pytestmark` of a module or class, or in the `marks` of a `pytest.param`.
"""

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

__all__ = [
    "SLICES",
    "STATES",
    "Mark",
    "RegistryError",
    "Requirement",
    "State",
    "collect_marks",
    "find_problems",
    "parse_marks",
    "parse_registry",
    "with_states",
]

State = Literal["planned", "met", "not ours"]

STATES: tuple[State, ...] = ("planned", "met", "not ours")
SLICES = ("end-to-end", "acp-whole", "terminal-seeing", "terminal-acting", "agent", "apps")

_KEYS = {"text", "state", "reason", "slices"}
_ID = re.compile(r"H-[A-Z][1-9]\d*|(R|RD|P|L|DEC)[1-9]\d*")
_NOT_RUN = {"skip", "xfail"}


class RegistryError(Exception):
    """The registry cannot be read; `problems` names every block that is wrong."""

    def __init__(self, problems: Sequence[str]) -> None:
        """Keep the problems and join them for the message."""
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """One need: its words, how far it is, and the pieces of work that name it."""

    id: str
    text: str
    state: State
    reason: str = ""
    slices: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One requirement id on one test.

    `test` is a pytest node id (of a module or a class where the mark stands there). `problem` says why the mark
    backs nothing: its id cannot be read, or what carries it is not run as an ordinary test.
    """

    requirement_id: str
    test: str
    problem: str = ""


def parse_registry(text: str) -> dict[str, Requirement]:
    """Read the registry strictly, in its own order.

    Raises:
        RegistryError: the text is not TOML (an id that stands twice is such a case), or a block has an unknown
            key, a missing or unknown value, or a reason where none belongs.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RegistryError([f"not readable as TOML: {error}"]) from error
    problems = [problem for name, block in document.items() for problem in _block_problems(name, block)]
    if problems:
        raise RegistryError(problems)
    return {
        name: Requirement(
            id=name,
            text=block["text"],
            state=block["state"],
            reason=block.get("reason", ""),
            slices=tuple(block.get("slices", ())),
        )
        for name, block in document.items()
    }


def parse_marks(source: str, *, file: str) -> list[Mark]:
    """Read the marks of one test file; `file` is the name that node ids begin with."""
    tree = ast.parse(source, filename=file)
    return list(_marks_of_body(tree.body, owner=file, inherited=""))


def collect_marks(tests: Path) -> list[Mark]:
    """Read the marks of every `test_*.py` below `tests`, in the order of the file names."""
    return [
        mark
        for path in sorted(tests.rglob("test_*.py"))
        for mark in parse_marks(
            path.read_text(encoding="utf-8"), file=path.relative_to(tests.parent).as_posix()
        )
    ]


def find_problems(requirements: Mapping[str, Requirement], marks: Iterable[Mark]) -> list[str]:
    """Say, one line each, where registry and marks disagree. No line: they agree.

    A mark on a planned requirement is progress, not a problem.
    """
    marks = list(marks)
    backed = {mark.requirement_id for mark in marks if not mark.problem}
    problems = [f"{mark.test}: {mark.problem}" for mark in marks if mark.problem]
    for mark in marks:
        requirement = requirements.get(mark.requirement_id)
        if requirement is None and mark.requirement_id:
            problems.append(
                f"{mark.test}: marked {mark.requirement_id!r}, which has no entry in the registry"
            )
        elif requirement is not None and requirement.state == "not ours":
            problems.append(f"{mark.test}: marked {mark.requirement_id}, which is said to be not ours")
    problems.extend(
        f"{requirement.id}: said to be met, but no test that runs is marked with it"
        for requirement in requirements.values()
        if requirement.state == "met" and requirement.id not in backed
    )
    return problems


def with_states(text: str, states: Mapping[str, State]) -> str:
    """Give the registry's text with the named requirements in other states; every other byte is kept."""
    lines = text.splitlines(keepends=True)
    current = ""
    for number, line in enumerate(lines):
        if line.startswith("["):
            current = line.strip().strip("[]")
        elif line.startswith("state = ") and current in states:
            lines[number] = f'state = "{states[current]}"\n'
    return "".join(lines)


def _block_problems(name: str, block: Any) -> Iterator[str]:
    if not _ID.fullmatch(name):
        yield f"{name}: not an id of the form H-A1, R1, RD1, P1, L1 or DEC1"
    if not isinstance(block, dict):
        yield f"{name}: expected a block [{name}]"
        return
    values = cast("dict[str, Any]", block)
    if unknown := sorted(values.keys() - _KEYS):
        yield f"{name}: unknown key {', '.join(unknown)}"
    text, state, reason = values.get("text"), values.get("state"), values.get("reason", "")
    if not isinstance(text, str) or not text.strip() or "\n" in text:
        yield f"{name}: text is to be one line that says the need"
    if state not in STATES:
        yield f"{name}: state {state!r} is none of {', '.join(STATES)}"
    elif (state == "not ours") != bool(reason):
        yield f"{name}: a reason stands with state 'not ours', and only there"
    slices: Any = values.get("slices", [])
    if not isinstance(slices, list) or [one for one in cast("list[Any]", slices) if one not in SLICES]:
        yield f"{name}: slices {slices!r} is not a list out of {', '.join(SLICES)}"


def _marks_of_body(body: Iterable[ast.stmt], *, owner: str, inherited: str) -> Iterator[Mark]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            runs_as_test = node.name.startswith("test")
            yield from _marks_of_definition(node, owner=owner, inherited=inherited, is_test=runs_as_test)
        elif isinstance(node, ast.ClassDef):
            is_test = node.name.startswith("Test")
            yield from _marks_of_definition(node, owner=owner, inherited=inherited, is_test=is_test)
            problem = inherited or _why_not_run(node, is_test=is_test)
            yield from _marks_of_body(node.body, owner=f"{owner}::{node.name}", inherited=problem)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _marks_of_body(_statements_of(node), owner=owner, inherited=inherited)
        else:
            yield from _marks_in(node, owner=owner, problem=inherited)


def _marks_of_definition(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, *, owner: str, inherited: str, is_test: bool
) -> Iterator[Mark]:
    problem = inherited or _why_not_run(node, is_test=is_test)
    for decorator in node.decorator_list:
        yield from _marks_in(decorator, owner=f"{owner}::{node.name}", problem=problem)


def _why_not_run(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, *, is_test: bool) -> str:
    if not is_test:
        return "marked, but its name does not make it a test"
    for decorator in node.decorator_list:
        name = _mark_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if name in _NOT_RUN:
            return f"marked, but always {name}: it can back nothing"
    return ""


def _marks_in(node: ast.AST, *, owner: str, problem: str) -> Iterator[Mark]:
    for call in ast.walk(node):
        if not isinstance(call, ast.Call) or _mark_name(call.func) != "requirement":
            continue
        for argument in call.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                yield Mark(requirement_id=argument.value, test=owner, problem=problem)
            else:
                yield Mark(
                    requirement_id="", test=owner, problem="marked with an id that is not a literal string"
                )
        if not call.args:
            yield Mark(requirement_id="", test=owner, problem="marked with no id")


def _mark_name(node: ast.expr) -> str:
    """The `x` of `pytest.mark.x` or `mark.x`, else nothing."""
    if not isinstance(node, ast.Attribute):
        return ""
    holder = node.value
    holder_name = (
        holder.attr
        if isinstance(holder, ast.Attribute)
        else holder.id
        if isinstance(holder, ast.Name)
        else ""
    )
    return node.attr if holder_name == "mark" else ""


def _statements_of(node: ast.If | ast.Try | ast.With) -> Iterator[ast.stmt]:
    yield from node.body
    if isinstance(node, ast.If | ast.Try):
        yield from node.orelse
    if isinstance(node, ast.Try):
        for handler in node.handlers:
            yield from handler.body
        yield from node.finalbody
