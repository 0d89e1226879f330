"""`punto-server token mint|key|revoke`: tokens for tests, keys to sign them with, and an early end for real ones.

In real use an identity provider mints the tokens, and a node only has the public halves of its keys. A token goes to
standard output and nowhere else.
"""

import argparse
import asyncio
import json
import os
import secrets
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from jwt.algorithms import HMACAlgorithm, OKPAlgorithm, RSAAlgorithm

from server.auth import IdentityRefused, Role, clean_name
from server.commands.signing import add_signature, signed
from server.commands.store_place import add_place, open_store
from server.settings import BadSetting
from server.store.revocations import Revocations
from server.token_keys import ALGORITHMS, KEY_ID_CHARS_MAX, RSA_BITS_MIN, SECRET_BYTES_MIN, BadKeys, read_signing_key
from server.tokens import PATRON_FORM, TOKEN_ID_FORM, TokenRules, mint

LIFE_S: Final = 3_600
MODE: Final = 0o600


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the command's flags."""
    token = commands.add_parser("token", help="mint tokens for tests, make keys, revoke tokens")
    verbs = token.add_subparsers(dest="verb", required=True)
    _add_mint(verbs.add_parser("mint", help="print a signed token"))
    key = verbs.add_parser("key", help="make a key: one file to sign with, one for the nodes")
    key.add_argument("--algorithm", choices=ALGORITHMS, default=ALGORITHMS[0], help="(%(default)s)")
    key.add_argument("--id", metavar="ID", required=True, help="its id (kid)")
    key.add_argument("--signing", metavar="FILE", type=Path, required=True, help="new: what signs, to be kept secret")
    key.add_argument("--checking", metavar="FILE", type=Path, required=True, help="new: for serve --token-keys")
    revoke = verbs.add_parser("revoke", help="end a token, or all that a patron has, before it expires")
    add_place(revoke)
    add_signature(revoke)
    whom = revoke.add_mutually_exclusive_group(required=True)
    whom.add_argument("--token-id", metavar="ID", type=_form(TOKEN_ID_FORM), help="its jti")
    whom.add_argument("--patron", metavar="ID", type=_form(PATRON_FORM), help="whose tokens, all issued until now")
    revoke.add_argument(
        "--token-life-max-ms",
        metavar="MS",
        type=_whole,
        default=TokenRules().life_ms_max,
        help="as for serve: kept so long (%(default)s)",
    )
    revoke.add_argument("--json", action="store_true", help="print one JSON object")


def _add_mint(parser: argparse.ArgumentParser) -> None:
    rules = TokenRules()
    parser.add_argument("--signing", metavar="FILE", type=Path, required=True, help="made by `token key`")
    parser.add_argument("--patron", metavar="ID", type=_form(PATRON_FORM), required=True, help="the public id (sub)")
    parser.add_argument("--role", choices=[role.value for role in Role], default=Role.PATRON.value)
    parser.add_argument("--name", metavar="NAME", help="for display")
    parser.add_argument("--bot", action="store_true", help="a program, and told as one")
    parser.add_argument("--token-id", metavar="ID", type=_form(TOKEN_ID_FORM), help="its jti (drawn)")
    parser.add_argument("--issuer", metavar="NAME", default=rules.issuer, help="(%(default)s)")
    parser.add_argument("--audience", metavar="NAME", default=rules.audience, help="(%(default)s)")
    parser.add_argument("--seconds", metavar="N", type=_whole, default=LIFE_S, help="it lives (%(default)s)")


def run(args: argparse.Namespace, _argv: Sequence[str]) -> int:
    """Do it. Raises `BadSetting`, `EmbeddedError`, `StoreError`."""
    match args.verb:
        case "mint":
            print(_mint(args))
        case "key":
            _make_key(args)
        case _:
            told = asyncio.run(_revoke(args))
            print(json.dumps(told) if args.json else f"revoked at {told['at_ms']}: the tokens end within two seconds")
    return 0


def _mint(args: argparse.Namespace) -> str:
    try:
        key_id, key = read_signing_key(args.signing)
        name = clean_name(args.name) if args.name is not None else None
    except (OSError, BadKeys) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadSetting(f"--signing: {args.signing}: {reason}") from None
    except IdentityRefused as refused:
        raise BadSetting(f"--name: {refused.code.text}") from None
    return mint(
        key_id,
        key,
        TokenRules(args.issuer, args.audience),
        patron=args.patron,
        role=Role(args.role),
        name=name,
        bot=args.bot,
        token_id=args.token_id,
        issued_at_s=int(time.time()),
        life_s=args.seconds,
    )


def _make_key(args: argparse.Namespace) -> None:
    if not 1 <= len(args.id) <= KEY_ID_CHARS_MAX or not args.id.isprintable():
        raise BadSetting(f"--id: 1 to {KEY_ID_CHARS_MAX} visible characters are wanted")
    for path, pair in zip((args.signing, args.checking), new_key(args.algorithm, args.id), strict=True):
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, MODE)
        except OSError as error:
            raise BadSetting(f"{path}: {error.strerror}") from None
        with os.fdopen(file, "w") as stream:
            stream.write(json.dumps({"keys": [pair]}, indent=1) + "\n")
    print(f"{args.algorithm} key {args.id}: sign with {args.signing}, check with {args.checking}", file=sys.stderr)


def new_key(algorithm: str, key_id: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw a key; returns what signs and what checks, which are the same for a shared secret (HS256)."""
    known = {"kid": key_id, "alg": algorithm, "use": "sig"}
    if algorithm == "HS256":
        secret = {**HMACAlgorithm.to_jwk(secrets.token_bytes(2 * SECRET_BYTES_MIN), as_dict=True), **known}
        return secret, secret
    if algorithm == "RS256":
        rsa = generate_private_key(65_537, RSA_BITS_MIN)
        halves = (RSAAlgorithm.to_jwk(half, as_dict=True) for half in (rsa, rsa.public_key()))
    else:
        ed = Ed25519PrivateKey.generate()
        halves = (OKPAlgorithm.to_jwk(half, as_dict=True) for half in (ed, ed.public_key()))
    signing, checking = ({name: value for name, value in half.items() if name != "key_ops"} for half in halves)
    return {**signing, **known}, {**checking, **known}


async def _revoke(args: argparse.Namespace) -> dict[str, Any]:
    async with open_store(args) as store:
        at_ms = await Revocations(store.driver).revoke(
            token_id=args.token_id or "",
            patron=args.patron or "",
            kept_ms=args.token_life_max_ms,
            signed=signed(args),
        )
    return {"token_id": args.token_id, "patron": args.patron, "at_ms": at_ms}


def _form(form: Any) -> Any:
    def read(text: str) -> str:
        if not form.fullmatch(text):
            raise argparse.ArgumentTypeError(f"not {form.pattern}")
        return text

    return read


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 12 and int(text) > 0):
        raise argparse.ArgumentTypeError(f"a whole number above 0 is wanted, not {text!r}")
    return int(text)
