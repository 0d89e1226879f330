"""A node that does nothing but hold the bundled Valkey: `python -m tests.support.embedded_node DIR [--no-launcher]`.

It prints one JSON line (`url`, `pid` of Valkey) when the store serves, and stays until it is ended.
"""

import asyncio
import json
import signal
import sys
from pathlib import Path

from server.embedded import EmbeddedValkey, valkey


async def main(directory: str) -> None:
    """Hold the store until killed."""
    store = EmbeddedValkey(directory)
    url = await store.start()
    print(json.dumps({"url": url, "pid": store.pid}), flush=True)
    try:
        await asyncio.Event().wait()
    finally:
        await store.stop()


if __name__ == "__main__":
    if "--no-launcher" in sys.argv:  # as on a system that cannot tell a child of its parent's death

        def plain_command(binary: Path, config_path: Path) -> list[str]:
            return [str(binary), str(config_path)]

        setattr(valkey, "command", plain_command)  # noqa: B010 - a replaced import, which mypy would refuse
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what it starts in the background ignore it
    asyncio.run(main(sys.argv[1]))
