import sys

import httpx

from fusewire import Guard, Policy, Refused, target
from fusewire.store.redis import RedisStore

policy = Policy({"prefix": "shop"}, store=RedisStore(sys.argv[2]), prefix="shop")
guard = Guard(policy, on_event=lambda event: print(event["domain"], event["kind"]))


@guard.guarded(target("payments", account="key-1", operation="refund"), limit=8)
def refund() -> httpx.Response:
    return httpx.get(sys.argv[1], timeout=2)


for _ in range(6):
    try:
        print(refund().status_code)
    except Refused as refused:
        print(f"{refused.domain} is {refused.reason}, for every worker on this Redis")

for state in guard.inspect("payments"):
    print(state["domain"], state["phase"], state["failures"])
