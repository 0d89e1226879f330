"""`punto-server seal-key`: the keys by which the secrets of shoes are sealed in the store, without a house.

Keys are named by their ids, which tell nothing of them. Read next: `server/keyring_file.py`.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from server.keyring import Keyring
from server.keyring_file import add_key, read_keyring


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command's two verbs."""
    parser = commands.add_parser("seal-key", help="make and name the keys that seal secrets in the store")
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb, meaning in (
        ("new", "add a fresh key behind those in FILE"),
        ("show", "print the ids of the keys in FILE"),
    ):
        verbs.add_parser(verb, help=meaning).add_argument("file", metavar="FILE", type=Path)


def run(args: argparse.Namespace, _argv: Sequence[str]) -> int:
    """Do it and print the ids. Raises `BadKeyFile` and OSError."""
    print(_told(add_key(args.file) if args.verb == "new" else read_keyring(args.file)))
    return 0


def _told(keyring: Keyring) -> str:
    return "\n".join(f"{key_id}{'  seals' if key_id == keyring.newest_id else ''}" for key_id in keyring.ids)
