"""The sums that a table tells of a round: what lies on the spots at the close, and what was paid in all.

Nothing here knows single bets; what follows from the sums alone is checked. Pure. Read next: `checker`.
"""

from client_sdk.bots.acts import House
from client_sdk.bots.findings import Found, Kind
from client_sdk.game.settlement import settle_bet
from client_sdk.game.tableau import Outcome
from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import BettingClosed, RoundSettled, TableRules


def totals_found(event: BettingClosed, rules: TableRules) -> Found:
    """Check the sums of a closed betting against the limits of the table."""
    found: Found = []
    laid = {spot: amount for spot, amount in event.totals.items() if amount}
    if unknown := [spot for spot in laid if spot not in rules.maximums]:
        found.append((Kind.ROUND, f"bets lie on {unknown}, which this house does not have"))
    if bool(laid) is not bool(event.bettors):
        found.append((Kind.ROUND, f"{event.bettors} patrons laid {laid}"))
    for spot, amount in laid.items():
        if not rules.minimum <= amount <= event.bettors * rules.maximums.get(spot, 0):
            found.append((Kind.ROUND, f"{amount} on {spot} by {event.bettors} patrons is outside the limits"))
        if amount > rules.table_maximums.get(spot, amount):
            found.append((Kind.ROUND, f"{amount} on {spot} is more than the whole table takes"))
    return found


def paid_found(event: RoundSettled, closed: BettingClosed, outcome: Outcome | None, house: House) -> Found:
    """Check what was paid in all: the sums settled as one bet a spot, less at most a rounded unit for each patron.

    The commission is rounded up per patron, so many bets bring up to one unit each less than their sum would; a cap
    on wins is per bet too and can only lower what is paid. Without an outcome (a void round) all stakes came back.
    """
    found: Found = []
    if event.settled != closed.bettors:
        found.append((Kind.UNSETTLED, f"{event.settled} patrons were settled, {closed.bettors} had bets"))
    laid = {spot: amount for spot, amount in closed.totals.items() if amount and spot in house.variant.spots}
    if outcome is None:
        lowest = highest = sum(laid.values())
    else:
        highest = sum(settle_bet(house.variant, spot, amount, outcome).payout for spot, amount in laid.items())
        rounding = closed.bettors if outcome is Outcome.BANKER and laid.get(Spot.BANKER) else 0
        lowest = highest - rounding if house.limits.win_max is None else 0
    if not lowest <= event.paid <= highest:
        found.append((Kind.PAYOUT, f"{event.paid} was paid on {closed.totals}, the rules give {highest}"))
    return found
