"""What a policy looks at, asked once for each provider, and answers cut to that."""

from __future__ import annotations

from .contract import Response, Target, Wanted
from .policy import BasePolicy

BODY_MAX_BYTES = 64 * 1024
"""The most of a body that a policy is shown, whatever it asks for."""

EXPECTED_MIN_BYTES = 512
"""The least of a body that is shown where the caller said what it can use: as much tells an image
from a page with an error."""

PROVIDERS_MAX = 1024
"""How many providers are remembered: where each host is one there is no end of them."""


class Evidence:
    """What one policy looks at. Any number of threads may ask."""

    def __init__(self, policy: BasePolicy) -> None:
        self._policy = policy
        self._known: dict[str, Wanted] = {}

    def wanted(self, target: Target, expect: str) -> Wanted:
        """What is looked at in answers of this target, where the caller said that this is what it
        can use."""
        wanted = self._of(target)
        if expect != "any" and wanted["body-bytes"] < EXPECTED_MIN_BYTES:
            wanted = wanted.copy()
            wanted["body-bytes"] = EXPECTED_MIN_BYTES
        return wanted

    def _of(self, target: Target) -> Wanted:
        # It depends on the configuration, which a policy has for life, and on the provider.
        provider = target["provider"]
        known = self._known.get(provider)
        if known is None:
            known = self._policy.wanted(target)
            known["body-bytes"] = min(known["body-bytes"], BODY_MAX_BYTES)
            if len(self._known) >= PROVIDERS_MAX:
                self._known = {}
            self._known[provider] = known
        return known


def has_no_body(status: int) -> bool:
    """Whether an answer with this status has no body by its kind (RFC 9110, section 6.4.1), which
    is not the same as an empty one. Neither has an answer to ``HEAD``."""
    return status < 200 or status in (204, 304)


def cut(response: Response, wanted: Wanted) -> Response:
    """An answer without what nobody looks at: crossing the component's boundary costs more than
    leaving it away."""
    status, body = response["status"], response["body"]
    most, names = wanted["body-bytes"], wanted["headers"]
    return {
        "status": status,
        "headers": [
            field
            for field in response["headers"]
            if names is None or field["name"].lower() in names
        ],
        "trailers": response["trailers"],
        "body": None if body is None or most == 0 or has_no_body(status) else body[:most],
    }
