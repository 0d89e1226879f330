"""The houses' rules a second time, written plainly from their sheets and from nothing of ours.

Slow and wordy on purpose: what the service pays is compared with this. Amounts are minor units.
"""

import hashlib
import hmac
from typing import Any, Final, NamedTuple

Message = dict[str, Any]


class House(NamedTuple):
    """What one sheet says about bets."""

    commission_percent: int
    tie_to_one: int | None
    win_cap: int | None
    spots: tuple[str, ...]
    player_with_banker: bool
    decks: int
    shuffles_every_round: bool


HOUSES: Final = {
    "royal-1": House(5, 8, 75_000, ("player", "banker", "tie"), True, 8, False),
    "four-deck-1": House(5, 8, None, ("player", "banker", "tie"), False, 4, True),
    "punto-banco-1": House(5, 8, None, ("player", "banker", "tie"), True, 8, False),
    "stand-off-1": House(5, None, None, ("player", "banker"), True, 8, False),
    "red-lounge-1": House(4, 9, None, ("player", "banker", "tie"), True, 1, True),
}


class Played(NamedTuple):
    """A round, read from its cards alone."""

    player: list[str]
    banker: list[str]
    outcome: str
    sides: list[str]
    """Who got the first, second, ... card."""


def count(card: str) -> int:
    """What a card counts."""
    rank = card[0]
    if rank == "A":
        return 1
    if rank in "TJQK":
        return 0
    return int(rank)


def total(hand: list[str]) -> int:
    """The last digit of the sum."""
    return sum(count(card) for card in hand) % 10


def play(cards: list[str]) -> Played:
    """Deal a round from these cards, by the sheet's sentences. Cards too many or too few are an error."""
    player, banker, sides = [cards[0], cards[2]], [cards[1], cards[3]], ["player", "banker", "player", "banker"]
    rest = list(cards[4:])
    if total(player) < 8 and total(banker) < 8:
        third = None
        if total(player) <= 5:
            third = rest.pop(0)
            player.append(third)
            sides.append("player")
        if _banker_draws(total(banker), None if third is None else count(third)):
            banker.append(rest.pop(0))
            sides.append("banker")
    assert not rest, f"the round {cards} is over before its last card"
    if total(player) > total(banker):
        outcome = "player"
    elif total(banker) > total(player):
        outcome = "banker"
    else:
        outcome = "tie"
    return Played(player, banker, outcome, sides)


def _banker_draws(two_cards: int, player_third: int | None) -> bool:
    if player_third is None:
        return two_cards <= 5
    if two_cards <= 2:
        return True
    if two_cards == 3:
        return player_third != 8
    if two_cards == 4:
        return player_third in (2, 3, 4, 5, 6, 7)
    if two_cards == 5:
        return player_third in (4, 5, 6, 7)
    if two_cards == 6:
        return player_third in (6, 7)
    return False


def line(table: str, spot: str, stake: int, outcome: str) -> Message:
    """What becomes of the sum on one spot, as `results` tells it."""
    house = HOUSES[table]
    if spot != outcome:
        if outcome == "tie":
            return {"stake": stake, "payout": stake, "commission": 0, "result": "push", "capped": 0}
        return {"stake": stake, "payout": 0, "commission": 0, "result": "lose", "capped": 0}
    win, commission = stake, 0
    if spot == "tie":
        assert house.tie_to_one is not None, "this house takes no tie bets"
        win = stake * house.tie_to_one
    if spot == "banker":
        hundredths = stake * house.commission_percent
        commission = hundredths // 100 + (1 if hundredths % 100 else 0)
        win = stake - commission
    capped = 0
    if house.win_cap is not None and win > house.win_cap:
        capped = win - house.win_cap
    return {"stake": stake, "payout": stake + win - capped, "commission": commission, "result": "win", "capped": capped}


def results(table: str, bets: dict[str, int], outcome: str) -> dict[str, Message]:
    """What becomes of one patron's bets."""
    return {spot: line(table, spot, stake, outcome) for spot, stake in bets.items()}


def shoe(secret_hex: str, decks: int, number: int) -> list[str]:
    """All cards of a shoe without cuts in deal order, by the sentences of `bac-shoe-v1`."""
    secret, size = bytes.fromhex(secret_hex), 52 * decks
    context = b"bac-shoe-v1\x00" + decks.to_bytes(1, "big") + number.to_bytes(8, "big") + hashlib.sha256(b"").digest()
    words: list[int] = []
    block = 0

    def below(limit: int) -> int:
        nonlocal block
        while True:
            if not words:
                digest = hmac.new(secret, context + block.to_bytes(4, "big"), hashlib.sha256).digest()
                words.extend(int.from_bytes(digest[at : at + 4], "big") for at in range(0, 32, 4))
                block += 1
            word = words.pop(0)
            if word < 2**32 // limit * limit:
                return word % limit

    order = list(range(size))
    for last in range(size - 1, 0, -1):
        other = below(last + 1)
        order[last], order[other] = order[other], order[last]
    return ["A23456789TJQK"[index % 52 % 13] + "cdhs"[index % 52 // 13] for index in order]


def opens(commitment: str, secret_hex: str) -> bool:
    """Whether a secret is the one that was committed to."""
    return hashlib.sha256(bytes.fromhex(secret_hex)).hexdigest() == commitment
