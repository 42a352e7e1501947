import sys

import httpx

from fusewire import Guard, Policy, Refused

guard = Guard(Policy({"breaker": {"failures": {"count": 3}}}))

for _ in range(5):
    try:
        with guard.call("geocoder", limit=2) as call:
            response = httpx.get(sys.argv[1], timeout=call.limit)
            call.response(response.status_code, response.headers)
        print(response.status_code, call.verdict["outcome"])
    except Refused as refused:
        print(f"not asked for {refused.retry_after:.0f} s: {refused.detail}")
