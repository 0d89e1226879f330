"""The commands of `punto-server`, one a file: each has `add_parser` and `run`."""
