"""The attackers' own process: `python -m tests.attacks.attacker HOST PORT`, told on standard input what to do.

A line `NAME SIZE` begins an attack, which is said to have begun when the first line stands; the next line ends it, and
what the attackers saw is printed. They let the node and the honest have the processor first, as if they ran elsewhere:
all that those two do not use is theirs, and they send as fast as it lets them.
"""

import asyncio
import json
import logging
import resource
import sys
from collections import Counter

from tests.attacks.attackers import ATTACKS
from tests.attacks.line import Target
from tests.attacks.processor import come_behind


async def main(target: Target) -> None:
    """Attack as told, until standard input ends."""
    while order := (await asyncio.to_thread(sys.stdin.readline)).split():
        await _attack(target, order[0], int(order[1]))


async def _attack(target: Target, name: str, size: int) -> None:
    seen: Counter[str] = Counter()
    attack, _ = ATTACKS[name]
    attacking = asyncio.create_task(attack(target, size, seen))
    while not seen and not attacking.done():
        await asyncio.sleep(0.01)
    print("attacking", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    if attacking.done():
        attacking.result()  # it goes on for ever, or has failed
    attacking.cancel()
    await asyncio.gather(attacking, return_exceptions=True)
    print(json.dumps(dict(seen)), flush=True)


if __name__ == "__main__":
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it would tell of each frame into a line that was just cut
    come_behind()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(main(Target(sys.argv[1], int(sys.argv[2]))))
