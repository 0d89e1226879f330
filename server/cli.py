"""`punto-server`: the operator's command line, as far as Ctrl-C must be quiet before anything else is there.

What takes time to import is imported in `main`, behind the handler. Flags and commands are `command_line.py`'s.
"""

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Final

EXIT_INTERRUPTED: Final = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run `punto-server`; returns the exit code."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    # A server that is asked to stop before it serves has done what it was asked; a check that is cut short has not.
    interrupted = 0 if arguments[:1] == ["serve"] else EXIT_INTERRUPTED

    def leave_at_once(_number: int, _frame: FrameType | None) -> None:
        os._exit(interrupted)  # nothing was begun yet

    before = signal.signal(signal.SIGINT, leave_at_once)
    try:
        from server import command_line

        signal.signal(signal.SIGINT, signal.default_int_handler)
        return command_line.run(arguments)
    except KeyboardInterrupt:
        return interrupted
    finally:
        signal.signal(signal.SIGINT, before)


if __name__ == "__main__":
    sys.exit(main())
