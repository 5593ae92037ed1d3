"""Announced retries: which notifications of the harness's own say so is data of its manifest."""

from __future__ import annotations

from typing import Any

from inspan.model.reports import WillRetry
from inspan.model.retrying import RetryNotification

from .exchange import Exchange
from .loose import integer_in, mapping, mapping_in, text_in

__all__ = ["is_retry_taken"]

_REASON_CHARACTERS = 500


def is_retry_taken(exchange: Exchange, method: str, raw: Any) -> bool:
    """Reports the retry that a notification announces; `False` where it announces none."""
    for rule in exchange.settings.acp.retry_notifications:
        values = mapping(raw)
        if rule.method == method and values is not None:
            exchange.report(
                _read(rule, values), "acp.notification.retry", session=text_in(values, "sessionId") or None
            )
            return True
    return False


def _read(rule: RetryNotification, values: dict[str, Any]) -> WillRetry:
    said = (_text_at(values, path) for path in rule.reason)
    delay_ms = _integer_at(values, rule.delay_ms)
    return WillRetry(
        delay_s=delay_ms / 1000 if delay_ms is not None and 0 <= delay_ms < 1e12 else None,
        reason=": ".join(one for one in said if one)[:_REASON_CHARACTERS],
        attempt=_integer_at(values, rule.attempt),
        limit=_integer_at(values, rule.max_attempts),
    )


def _text_at(values: dict[str, Any], path: str) -> str:
    *folders, name = path.split(".")
    for folder in folders:
        values = mapping_in(values, folder)
    return text_in(values, name)


def _integer_at(values: dict[str, Any], path: str) -> int | None:
    if not path:
        return None
    *folders, name = path.split(".")
    for folder in folders:
        values = mapping_in(values, folder)
    return integer_in(values, name)
