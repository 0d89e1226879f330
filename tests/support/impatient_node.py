"""`punto-server` with short patience and narrow buffers, for tests that would wait too long: `python -m
tests.support.impatient_node serve ...`.

Everything else is the product's own command line.
"""

import sys

from server import departures, gateway, hub
from server.cli import main
from tests.support import narrow_node

setattr(gateway, "PING_INTERVAL_S", 0.5)  # noqa: B010 - constants, which mypy would not let change
setattr(gateway, "PING_TIMEOUT_S", 1)  # noqa: B010 - the same
setattr(gateway, "CLOSE_TIMEOUT_S", 1)  # noqa: B010 - the same
setattr(gateway, "DRAIN_MS_MAX", 1_500)  # noqa: B010 - the same
setattr(hub, "DRAIN_MS_MAX", 1_500)  # noqa: B010 - the same
setattr(departures, "IDLE_ROUNDS", 6)  # noqa: B010 - the same

if __name__ == "__main__":
    sys.exit(main([*narrow_node.arguments(), "--handshake-ms", "1000", "--hello-ms", "1000"]))
