import sys

from fusewire import Guard, Policy
from fusewire.store.redis import RedisStore

guard = Guard(Policy(store=RedisStore(sys.argv[1])))

guard.order("tiles", "observe", who="on-call", why="a trial", lasts=3600, enforce_percent=10)
for fact in guard.explain("tiles"):
    print(f"{fact['subject']}: {fact['says']}")
guard.clear("tiles")
