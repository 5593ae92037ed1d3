"""A hint for authors: state that a plugin's module keeps outside of `setup`, where all agents of a process share it.

It reads the syntax alone and can be wrong both ways; it is a warning in the plugin's status, never a failure.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

__all__ = ["find_module_state"]

_STATEFUL = {
    "Client", "AsyncClient", "Session", "ClientSession", "Connection", "Timer", "Thread", "Process", "Popen", "Lock",
    "RLock", "Event", "Condition", "Semaphore", "Queue", "create_task", "ensure_future", "open", "connect",
    "defaultdict", "deque", "dict", "list", "set", "Counter", "ThreadPoolExecutor", "ProcessPoolExecutor",
}  # fmt: skip
_DISPLAYS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


def find_module_state(source: str) -> tuple[str, ...]:
    """One sentence for each name of the module that looks like state; none for source that cannot be parsed.

    Constants in capitals that hold plain values are left alone.
    """
    try:
        module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    found = [
        f"Its module keeps '{name}' (line {line}) outside of setup, where all agents of a process share it."
        for name, line in (*_assigned(module), *_declared_global(module))
    ]
    return tuple(dict.fromkeys(found))


def _assigned(module: ast.Module) -> Iterator[tuple[str, int]]:
    for statement in module.body:
        match statement:
            case ast.Assign(targets=targets, value=value):
                pass
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                targets = [target]
            case _:
                continue
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        for name in names:
            is_constant = name.isupper() or (name.startswith("__") and name.endswith("__"))
            if _is_stateful_call(value) or (isinstance(value, _DISPLAYS) and not is_constant):
                yield name, statement.lineno


def _is_stateful_call(value: ast.expr) -> bool:
    if not isinstance(value, ast.Call):
        return False
    called = value.func
    name = (
        called.attr
        if isinstance(called, ast.Attribute)
        else called.id
        if isinstance(called, ast.Name)
        else ""
    )
    return name in _STATEFUL


def _declared_global(module: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(module):
        if isinstance(node, ast.Global):
            for name in node.names:
                yield name, node.lineno
