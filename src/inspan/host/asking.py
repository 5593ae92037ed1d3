"""Asking a plugin: the same question and the same errors, wherever the plugin runs."""

from __future__ import annotations

from typing import Protocol, TypeVar

import msgspec

from inspan.model.errors import PluginError
from inspan.plugin.contract import METHODS

__all__ = ["AskedPlugin", "ask_for", "check_result", "timed_out"]

Result = TypeVar("Result", bound=msgspec.Struct)


class AskedPlugin(Protocol):
    """A plugin as the host sees it."""

    async def ask(
        self, method: str, params: msgspec.Struct, *, deadline_s: float | None = None
    ) -> msgspec.Struct:
        """The answer to one question.

        Args:
            method: A key of `METHODS`.
            params: Its parameters.
            deadline_s: Seconds until it is given up; the method's own by default.

        Raises:
            PluginError: `unsupported_capability` (the plugin has no such operation), `plugin_refused` (it
                declined this request), `plugin_missing` and `plugin_incompatible` (there is nobody to ask),
                `plugin_timeout`, `plugin_failed`.
            InspanError: Whatever else the plugin raised on purpose.
        """
        ...

    async def close(self) -> None:
        """Ends it. Closing twice does nothing more."""
        ...


async def ask_for(
    plugin: AskedPlugin,
    result: type[Result],
    method: str,
    params: msgspec.Struct,
    *,
    deadline_s: float | None = None,
) -> Result:
    """As `plugin.ask`, with an answer of a known type."""
    answer = await plugin.ask(method, params, deadline_s=deadline_s)
    if not isinstance(answer, result):
        raise TypeError(f"{method} gives {type(answer).__name__}, not {result.__name__}")
    return answer


def check_result(harness: str, method: str, result: object) -> msgspec.Struct:
    """`result` itself if it is what `method` gives: a normalised answer, whatever else it carries.

    Raises:
        PluginError: `plugin_failed`.
    """
    wanted = METHODS[method].result
    if isinstance(result, wanted):
        return result
    raise PluginError(
        f"The plugin of {harness} answered {method} with {type(result).__name__}, not {wanted.__name__}.",
        retry_safe=False,
    )


def timed_out(harness: str, method: str, limit_s: float) -> PluginError:
    """The error for a plugin that did not answer in time."""
    return PluginError(
        f"The plugin of {harness} did not answer {method} within {limit_s:g} s.",
        code="plugin_timeout",
        hint="Try again; if it stays so, report it to the harness's maintainer.",
        retry_safe=METHODS[method].is_repeatable,
    )
