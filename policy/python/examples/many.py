import asyncio
import sys

import httpx

from fusewire import Refused
from fusewire.aio import AsyncGuard, AsyncPolicy
from fusewire.store.aredis import AsyncRedisStore


async def main() -> None:
    store = AsyncRedisStore(sys.argv[2])
    guard = AsyncGuard(AsyncPolicy(store=store))

    async def ask(client: httpx.AsyncClient) -> str:
        try:
            async with guard.call("tiles", limit=5) as call:
                response = await client.get(sys.argv[1])
                call.response(response.status_code, response.headers)
            return str(response.status_code)
        except Refused as refused:
            return refused.reason

    async with httpx.AsyncClient(timeout=2) as client:
        for _ in range(2):
            print(await asyncio.gather(*[ask(client) for _ in range(10)]))
    await store.close()


asyncio.run(main())
