"""Fusewire in Python: a circuit breaker and failure classifier that a whole fleet shares.

The decisions are the component ``fusewire_policy.wasm``, the same bytes as in every other runtime.
Nothing in this package knows a rule of the policy.

==============  ====================================================================
module          subject
==============  ====================================================================
``guard``       :class:`Guard`: asks before a call, and tells how it ended
``report``      what is known of one call
``httpx``       a transport that guards every request of an httpx client
``evidence``    what the policy looks at, and answers cut to that
``look``        the beginning of a body, decoded, as it passes through a transport
``failures``    from an HTTP client's exception to the contract's name for it
``policy``      :class:`Policy`: the component's exports, over a configuration
``aio``         the same for asyncio, on a store that answers later
``store``       where the fleet's state is: in this process, or on a Redis
``tape``        the store as one call sees it: prefix, limits, replay
``alarms``      what is told of a call while it is still under way, for threads
``component``   a component compiled, and its instances, in wasmtime
``contract``    the contract's records, for type checkers
``errors``      what can go wrong
==============  ====================================================================
"""

from .component import Component
from .contract import target
from .errors import (
    ConfigurationError,
    FusewireError,
    InvalidOrder,
    LoadError,
    NotOffered,
    OrderFailed,
    PolicyFault,
    StoreError,
    StoreRefused,
    StoreUnavailable,
)
from .guard import Call, Guard
from .policy import Policy
from .report import Refused
from .store import MemoryStore, Store

__all__ = [
    "Call",
    "Component",
    "ConfigurationError",
    "FusewireError",
    "Guard",
    "InvalidOrder",
    "LoadError",
    "MemoryStore",
    "NotOffered",
    "OrderFailed",
    "Policy",
    "PolicyFault",
    "Refused",
    "Store",
    "StoreError",
    "StoreRefused",
    "StoreUnavailable",
    "target",
]
