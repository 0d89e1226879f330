"""Kills one worker after another while the bots play, at moments that follow from the seed, and tells each.

What may be killed is decided in `chaos`, at the moment of each kill again.
"""

import asyncio
from random import Random
from typing import TextIO

from client_sdk.bots.chaos import WORKERS_MIN, Chaos, kill_worker, workers_of


async def keep_killing(chaos: Chaos, seed: str, kills: list[str], stream: TextIO) -> None:
    """Kill one worker after another at moments of chance, tell each, until cancelled."""
    chance = Random(f"{seed} chaos")
    while True:
        await asyncio.sleep(chance.uniform(0.5, 1.5) * chaos.every_s)
        workers = workers_of(chaos.supervisor)
        if len(workers) < WORKERS_MIN:
            continue  # the last one is the service itself: the supervisor gets time to start the others again
        pid = chance.choice(list(workers))
        if kill_worker(pid, chaos.supervisor):
            kill = f"{workers[pid]} (process {pid})"
            kills.append(kill)
            print(f"punto: killed {kill}", file=stream, flush=True)
