"""A capability exists only if a branch of core reads it and a test pins that reader (H-A10)."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

import pytest

from inspan.model.capability import CAPABILITY_READERS, Capabilities

ROOT = Path(__file__).parents[2]
NAMES = Capabilities.__struct_fields__


def reads(source: str, capability: str) -> bool:
    """Whether the code takes the attribute of that name from something called capabilities."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr == capability:
            owner = node.value
            name = owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")
            if name == "capabilities":
                return True
        if (
            isinstance(node, ast.Call)
            and getattr(node.func, "id", "") == "getattr"
            and getattr(node.args[0], "attr", getattr(node.args[0], "id", "")) == "capabilities"
        ):
            return True
    return False


def names_of_tests(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.requirement("H-A10", "L6")
def test_every_capability_names_its_reader_and_the_test_that_pins_it() -> None:
    assert set(CAPABILITY_READERS) == set(NAMES)


@pytest.mark.requirement("H-A10")
@pytest.mark.parametrize("capability", NAMES)
def test_the_reader_reads_the_capability_and_the_pinning_test_is_there(capability: str) -> None:
    reader, pin = CAPABILITY_READERS[capability]
    module, function = reader.split(":")
    assert module.startswith(("inspan.seats.", "inspan.host."))
    found = getattr(importlib.import_module(module), function)
    assert reads(inspect.getsource(found), capability), f"{reader} does not read {capability}"
    file, test = pin.split("::")
    assert test in names_of_tests(ROOT / file)


def test_the_check_tells_a_reader_from_a_function_that_only_names_the_word() -> None:
    assert reads("def f(c):\n    return c.capabilities.resume.is_supported", "resume")
    assert reads("def f(capabilities):\n    return capabilities.resume", "resume")
    assert not reads("def f(c):\n    return c.resume", "resume")
    assert not reads("def f(c):\n    return 'capabilities.resume'", "resume")
