"""`punto replay`: deals finished rounds again, card by card, from a table's history or from a file of it.

It says whether the rules make each recorded round, up to its outcome. It must never judge the order of a shoe: `punto
verify` does, once the secret is out. Read next: `client_sdk.game.replay`.
"""

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from client_sdk.commands.arguments import BadArgument, Subparsers, positive_integer
from client_sdk.commands.files import read_file_or_input
from client_sdk.commands.house import add_house, ask_house, is_house_asked
from client_sdk.game.cards import parse_card
from client_sdk.game.replay import ReplayDiffers, replay_round

if TYPE_CHECKING:  # the other commands of `punto` start without a client
    from client_sdk.client import Client
    from client_sdk.protocol.messages import FinishedRound

ROUNDS_MAX: Final = 10_000

_ALL_HOLD: Final = 0
_SOME_DIFFER: Final = 1


def add_parser(subparsers: Subparsers) -> None:
    """Say what `punto replay` takes."""
    parser = subparsers.add_parser("replay", help="deal finished rounds of a table again, card by card")
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="rounds as --json prints them, one a line; - reads them"
    )
    add_house(parser, "whose rounds to ask for")
    parser.add_argument("--round", metavar="N", help="which round (default: the newest)")
    parser.add_argument("--last", metavar="N", help="so many rounds, up to that one (default: 1)")
    parser.add_argument("--json", action="store_true", help="print the records, one JSON object a line")


def run(args: argparse.Namespace) -> int:
    """Deal them, the oldest first: 0 if all hold, 1 if one differs.

    Raises BadArgument for what was asked wrongly; `NotAnswered`.
    """
    rounds = _recall(args) if is_house_asked(args) else _read(args.file)
    holds = True
    for finished in rounds:
        try:
            lines = list(_as_text(finished))
        except ReplayDiffers as difference:
            holds = False
            print(f"round {finished.round} differs: {difference}", file=sys.stderr)
            continue
        print(_as_json(finished) if args.json else "\n".join(lines))
    return _ALL_HOLD if holds else _SOME_DIFFER


def _recall(args: argparse.Namespace) -> "list[FinishedRound]":
    """Have the house tell the rounds, the oldest first. Raises BadArgument where it keeps none; `NotAnswered`."""
    last = positive_integer(args.last or "1", "the number of rounds", ROUNDS_MAX)
    newest = None if args.round is None else positive_integer(args.round, "the round", 2**53)

    async def newest_rounds(house: "Client") -> "list[FinishedRound]":
        found: list[FinishedRound] = []
        before = None if newest is None else newest + 1
        async for finished in house.rounds(args.table, before_round=before, page_rounds=min(last, 50)):
            found.append(finished)
            if len(found) == last:
                break
        return found

    rounds = ask_house(args, "replay", newest_rounds)
    if not rounds or newest not in (None, rounds[0].round):
        raise BadArgument(f"{args.table} keeps no round {newest or ''}".rstrip())
    return rounds[::-1]


def _read(path: str) -> "list[FinishedRound]":
    """Read one record a line."""
    import msgspec

    from client_sdk.protocol.messages import FinishedRound

    rounds: list[FinishedRound] = []
    for number, line in enumerate(read_file_or_input(path).splitlines(), start=1):
        if not line.strip():
            continue
        try:
            rounds.append(msgspec.json.decode(line, type=FinishedRound))
        except (msgspec.MsgspecError, ValueError) as error:
            raise BadArgument(f"line {number} is no finished round: {error}") from None
    if not rounds:
        raise BadArgument(f"{path!r} holds no round")
    return rounds


def _as_json(finished: "FinishedRound") -> str:
    import msgspec

    return msgspec.json.encode(finished).decode()


def _as_text(finished: "FinishedRound") -> Iterator[str]:
    """Draw a round card by card. Raises ReplayDiffers, and UnknownCard for what is no card."""
    player, banker = map(parse_card, finished.player), map(parse_card, finished.banker)
    cards = list(replay_round([*player], [*banker], finished.outcome))
    yield f"round {finished.round}, shoe {finished.shoe}, from card {finished.first_card + 1} of the shoe on"
    totals = {"player": 0, "banker": 0}
    for card in cards:
        totals[card.side] = card.total
        yield f"  {card.side:<8}{card.card}    total {card.total}"
    if finished.outcome is None:
        yield f"  void: {finished.void_reason}"
    else:
        yield f"  outcome {finished.outcome}, player {totals['player']}, banker {totals['banker']}"
    laid = ", ".join(f"{amount} on {spot}" for spot, amount in finished.totals.items()) or "no bets"
    yield f"  {laid}; {finished.paid} came back to {finished.settled} patron{'' if finished.settled == 1 else 's'}"
