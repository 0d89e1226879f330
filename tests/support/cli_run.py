"""Running `punto` within the test's own process: the same words, answer and exit code without a new interpreter.

What only a process has (Ctrl-C, readers that go away, bytes that are no text) is tested with a process.
"""

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple

from client_sdk import cli


class Done(NamedTuple):
    """How a command ended, in the words of `subprocess.CompletedProcess`."""

    returncode: int
    stdout: str
    stderr: str


def punto(*words: str) -> Done:
    """Run `punto` with these words."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = cli.main(words)
        except SystemExit as ended:  # --help
            code = int(ended.code or 0)
    return Done(code, out.getvalue(), err.getvalue())
