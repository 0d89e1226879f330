"""The subcommands of `punto`, one module each.

Every command module has the same two functions: `add_parser(subparsers)` says what it takes, `run(args) -> int` does it
and returns the exit code. None of them may end the process or catch what `client_sdk.cli` reports. Read next: `deal`.
"""
