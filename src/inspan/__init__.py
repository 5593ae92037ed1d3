"""Inspan: one contract through which anybody can drive any coding-agent harness.

`connect` and `open_local` give the same typed `Client`; docs/library.md shows both. They are loaded when they are
first used, so that a program which wants only this package's name or version stays quick.
"""

TYPE_CHECKING = False  # as type checkers read it; `typing` itself would load two dozen modules
if TYPE_CHECKING:
    from inspan.client.client import Client
    from inspan.client.connecting import connect
    from inspan.daemon.local import open_local

__all__ = ["Client", "__version__", "connect", "open_local"]

__version__ = "0.1.0"

_HOMES = {
    "Client": "inspan.client.client",
    "connect": "inspan.client.connecting",
    "open_local": "inspan.daemon.local",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
