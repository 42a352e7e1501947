import sys

import httpx

from fusewire import Guard, Policy
from fusewire.httpx import GuardedTransport

guard = Guard(Policy({"providers": {"google": {"profile": "google-geocoding"}}}))
transport = GuardedTransport(guard, target=lambda request: "google")

with httpx.Client(transport=transport, timeout=2) as client:
    response = client.get(sys.argv[1])
    verdict = response.extensions["fusewire"].verdict
    print(response.status_code, verdict["outcome"], verdict["reason"])
