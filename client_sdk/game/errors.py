"""The root of what the rules refuse, so that a caller can catch it in one clause.

    GameError(ValueError)
     ├─ cards.UnknownCard           no such card
     ├─ tableau.TooFewCards         the cards ran out before both hands were complete
     ├─ tableau.ImpossibleHands     no deal leads to these hands
     ├─ shoe.CutCardMisplaced       the cut card leaves too few cards before or behind it
     ├─ fairness.BadShuffleInput    what the shuffle's construction has no bytes for
     ├─ variants.UnknownVariant     no house of that name
     ├─ shoe_file.BadShoeFile       a value that a shoe's file does not have
     ├─ road_rounds.UnknownOutcome  no letter of an outcome
     ├─ settlement.ForbiddenBet     the variant does not take this bet, or not beside another
     └─ settlement.BadStake         a stake that is no possible amount

A refused act on a layout is no mistake of the caller and stands apart: `bets.BetRefused`. This module must never hold
anything but the root; each error lives beside the code that raises it.
"""


class GameError(ValueError):
    """An argument that the rules have no meaning for. Subclasses keep it as data and put the sentence in `__str__`."""
