"""`punto-server` with every place for requests taken: `python -m tests.support.full_node serve ...`."""

import sys

from server import node
from server.cli import main

if __name__ == "__main__":
    vars(node).update(REQUESTS_AT_ONCE=0, REQUEST_WAIT_MS_MAX=50)
    sys.exit(main())
