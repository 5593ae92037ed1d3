"""What a request spent, and what that cost by published prices."""

from __future__ import annotations

from pydantic_ai.messages import ModelResponse

from inspan.agent.values import Usage

__all__ = ["usage_of"]


def usage_of(response: ModelResponse) -> Usage:
    """The usage of one request; without a cost where the price of the model is not known."""
    spent = response.usage
    return Usage(
        requests=1,
        input_tokens=spent.input_tokens,
        output_tokens=spent.output_tokens,
        cache_read_tokens=spent.cache_read_tokens,
        cache_write_tokens=spent.cache_write_tokens,
        cost_usd=_cost(response),
    )


def _cost(response: ModelResponse) -> float | None:
    if not response.model_name:
        return None
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None
