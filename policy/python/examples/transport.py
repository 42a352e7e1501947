import sys

import httpx

from fusewire import Guard, Policy, Refused
from fusewire.httpx import GuardedTransport

guard = Guard(Policy())

with httpx.Client(transport=GuardedTransport(guard, limit=10), timeout=2) as client:
    for _ in range(6):
        try:
            print(client.get(sys.argv[1]).status_code)
        except httpx.TransportError as error:
            print(f"failed: {error!r}")
        except Refused as refused:
            print(f"{refused.domain} was not asked: {refused.detail}")
