"""What can go wrong, each with what was tried and what would be right."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .contract import Problem


class FusewireError(Exception):
    """Every error of this package."""


class LoadError(FusewireError):
    """This is not a policy that may be loaded."""


class ConfigurationError(FusewireError):
    """The policy does not accept the configuration."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        """Every problem, with its path, what is wrong and what would be right."""
        super().__init__("\n".join(_line(problem) for problem in problems))


class PolicyFault(FusewireError):
    """The policy trapped, ran for too long, or broke its contract. The instance is gone; the next
    call gets a new one. A call to a service is let through."""


class NotOffered(FusewireError):
    """The policy was built before the contract knew this question."""


class InvalidOrder(FusewireError):
    """An operator's order, or the domain that it is for, is not valid."""


class OrderFailed(FusewireError):
    """An operator's order was not carried out: the store did not do its part, or others changed
    the record each time. It may be given again."""


class StoreError(FusewireError):
    """A store did not do its part."""


class StoreUnavailable(StoreError):
    """Out of reach, or too slow. Whether the operation took effect is not known."""


class StoreRefused(StoreError):
    """Will not be done, and nothing was changed. The text is for the operator."""


def _line(problem: Problem) -> str:
    right = f"; {problem['right']}" if problem["right"] else ""
    return f"{problem['path'] or 'the configuration'}: {problem['wrong']}{right}"
