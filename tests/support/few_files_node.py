"""`punto-server` that can't have more open files than it was started with: `python -m tests.support.few_files_node
serve ...`."""

import resource
import sys

from server.cli import main

if __name__ == "__main__":
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, soft))
    sys.exit(main())
