"""Becomes another program that ends when its parent does: `launch.py PARENT_PID PROGRAM ARGUMENT...`.

Linux only. It asks the kernel for a SIGTERM at the parent's death and then replaces itself by PROGRAM, which keeps that
wish. A program of its own because the call must happen between fork and exec, where Python code in the parent's memory
(`preexec_fn`) may deadlock if other threads run. It imports nothing of Punto: it must start within milliseconds.

The kernel watches the *thread* that forked, so whoever starts this must do it from a thread that lives as long as the
node: the event loop's.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
EXIT_NOT_LAUNCHED = 127


def end_with_parent(parent_pid: int) -> bool:
    """Ask for a SIGTERM at the parent's death; false where it has died before that. Raises OSError where it can't be
    had."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM) != 0:
        raise OSError(ctypes.get_errno(), f"prctl: {os.strerror(ctypes.get_errno())}")
    return os.getppid() == parent_pid


def main(arguments: list[str]) -> int:
    """Ask for the signal, make sure the parent did not die before that, and become PROGRAM."""
    parent_pid, program = int(arguments[0]), arguments[1]
    try:
        if not end_with_parent(parent_pid):
            return EXIT_NOT_LAUNCHED
    except OSError as error:
        print(error.strerror, file=sys.stderr)
        return EXIT_NOT_LAUNCHED
    try:
        os.execv(program, arguments[1:])  # noqa: S606 - no shell is wanted
    except OSError as error:
        print(f"{program}: {error.strerror}", file=sys.stderr)
    return EXIT_NOT_LAUNCHED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
