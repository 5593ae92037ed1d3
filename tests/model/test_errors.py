"""The codes of errors: every one that the code can name is known, and so documented."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import inspan
from inspan.cli import exits
from inspan.daemon import failures
from inspan.holder import wire
from inspan.model.errors import ERROR_CODES

ROOM = Path(inspan.__file__).parent
# The holder's program speaks a protocol with words of its own; `inspan.holder.wire` makes our codes of them. So does an
# app, whose codes are values on its wire (`apps/model/envelope.py`); what tells harnesses of apps has ours.
_OWN_WORDS = (
    "holder/program/",
    "apps/model/",
    "apps/server/",
    "apps/programs/",
    "apps/examples/",
    "apps/bridge/",
)
SOURCES = [
    one
    for one in sorted(ROOM.rglob("*.py"))
    if not any(f"{ROOM.name}/{words}" in one.as_posix() for words in _OWN_WORDS)
]

# A broken protocol and a call for attention are told in events with words of their own.
WITH_OWN_CODES = {"ProtocolFault", "AttentionRaised"}


def _strings(node: ast.AST) -> Iterator[str]:
    """The texts that an expression may come out as; the condition of a choice is not among them."""
    match node:
        case ast.Constant(value=str(text)):
            if text:
                yield text
        case ast.IfExp(body=body, orelse=orelse):
            yield from _strings(body)
            yield from _strings(orelse)
        case ast.BoolOp(values=values):
            for value in values:
                yield from _strings(value)
        case ast.Call(func=ast.Attribute(attr="get"), args=[_, default]):
            yield from _strings(default)
        case _:
            return


def _codes(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=function, keywords=keywords):
                name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
                if name in WITH_OWN_CODES:
                    continue
                for keyword in keywords:
                    if keyword.arg in ("code", "default_code"):
                        yield from ((node.lineno, text) for text in _strings(keyword.value))
            case ast.Assign(targets=[ast.Name(id="code" | "default_code")], value=value):
                yield from ((node.lineno, text) for text in _strings(value))
            case ast.AnnAssign(target=ast.Name(id="default_code"), value=ast.expr() as value):
                yield from ((node.lineno, text) for text in _strings(value))
            case ast.Dict(keys=keys, values=values):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and key.value == "code":
                        yield from ((node.lineno, text) for text in _strings(value))
            case _:
                pass


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOM)))
def test_every_code_that_the_source_names_is_known(path: Path) -> None:
    unknown = [(line, code) for line, code in _codes(ast.parse(path.read_text())) if code not in ERROR_CODES]

    assert unknown == []


def test_a_code_that_nobody_knows_would_be_found() -> None:
    source = """
UsageError("…", code="one" if x == "no" else "two")
CallError(code=error.code or "three", message="")
ProtocolFault(code="truncated", message="")
code = table.get(number, "four")
answer = {"code": "five"}
class Fault(InspanError):
    default_code: str = "six"
"""

    assert sorted(code for _, code in _codes(ast.parse(source))) == [
        "five", "four", "one", "six", "three", "two",
    ]  # fmt: skip


def test_the_tables_of_statuses_name_only_known_codes() -> None:
    # The tables themselves are what is looked at.
    named = {*exits._CONFLICTS, *failures._CODES, *wire._CODES.values()}  # pyright: ignore[reportPrivateUsage]

    assert named - set(ERROR_CODES) == set()
