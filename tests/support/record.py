"""What everybody saw of one table, over all connections and restarts, put together and judged by the plain rules."""

from collections import defaultdict
from collections.abc import Iterable

from tests.support import plain_roads, plain_rules
from tests.support.raw_client import Message
from tests.support.rounds import cards_of, check_round, whole_rounds


class Record:
    """The history of one table as told to any number of clients."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.events: dict[int, Message] = {}
        self.results: dict[tuple[int, str], Message] = defaultdict(dict)
        """(round, patron) -> what the patron was told about its bets."""

    def take_events(self, events: Iterable[Message]) -> None:
        """Add what one client saw; whoever saw the same seq must have seen the same event."""
        for event in events:
            assert self.events.setdefault(event["seq"], event) == event

    def take_results(self, patron: str, round_number: int, bets: Message) -> None:
        """Add what one patron was told of its own bets; told again, it must be the same."""
        if bets:
            known = self.results.setdefault((round_number, patron), bets)
            assert known == bets, f"round {round_number} was settled twice for {patron}: {known} and {bets}"

    def check(self) -> list[plain_rules.Played]:
        """Judge the whole history: no gap in it, every round whole, cards as committed, sums as paid. Returns the
        rounds."""
        seqs = sorted(self.events)
        assert seqs == list(range(seqs[0], seqs[-1] + 1)), "somebody must have seen every event"
        history = [self.events[seq] for seq in seqs]
        rounds = whole_rounds(history)
        assert [events[0]["round"] for events in rounds] == [rounds[0][0]["round"] + n for n in range(len(rounds))]
        played = [self._check_money(events) for events in rounds]
        self._check_shoes(history)
        _check_roads(history)
        return played

    def _check_money(self, events: list[Message]) -> plain_rules.Played:
        played = check_round(events)
        results = [bets for (number, _), bets in self.results.items() if number == events[0]["round"]]
        for bets in results:
            stakes = {spot: line["stake"] for spot, line in bets.items()}
            assert bets == plain_rules.results(self.table, stakes, played.outcome)
        paid = sum(line["payout"] for bets in results for line in bets.values())
        assert (events[-1]["paid"], events[-1]["settled"]) == (paid, len(results)), events[0]["round"]
        return played

    def _check_shoes(self, history: list[Message]) -> None:
        """Cards of a shoe leave it one by one; a shoe that was seen whole is the one that was committed to."""
        started: Message | None = None
        taken: list[str | None] = []
        left: int | None = None
        for event in history:
            match event["type"]:
                case "shoe_started":
                    started, taken, left = event, [], event["cards"]
                    assert event["commitment"]
                case "cards_burned":
                    taken += [event["card"], *[None] * (event["count"] - 1)]
                    assert left is None or event["remaining"] == left - event["count"]
                    left = event["remaining"]
                case "card_dealt":
                    taken.append(event["card"])
                    assert left is None or event["remaining"] == left - 1
                    left = event["remaining"]
                case "shoe_ended" if started is not None:
                    assert plain_rules.opens(started["commitment"], event["secret"])
                    cards = plain_rules.shoe(event["secret"], started["decks"], event["shoe"])
                    assert all(card in (None, right) for card, right in zip(taken, cards, strict=False))
                    assert event["shoe"] == started["shoe"]
                    started = left = None
                case "shoe_ended":
                    left = None

    @property
    def rounds(self) -> list[list[Message]]:
        """The whole rounds."""
        return whole_rounds(self.events[seq] for seq in sorted(self.events))

    @property
    def cards(self) -> list[str]:
        """All cards dealt, in order."""
        return cards_of(self.events[seq] for seq in sorted(self.events))


def _check_roads(history: list[Message]) -> None:
    """What the deltas make, from where the roads were seen to begin, is what the rounds make; they begin anew with a
    shoe, or after as many rounds as they were to last."""
    roads: Message | None = None
    for event in history:
        if event["type"] == "shoe_started":
            is_full = roads is not None and len(roads["beads"]) == 3 * (roads["rounds_max"] or 0)
            assert event["roads"] is not None or (event["cut_card"] is None and not is_full)
            if event["roads"] is not None:
                assert event["roads"] == plain_roads.whole("", None if event["cut_card"] is not None else 72)
            roads = event["roads"] or roads
        elif event["type"] == "round_decided" and roads is not None:
            roads = plain_roads.after(roads, event["roads"])
            assert roads == plain_roads.whole(roads["beads"], roads["rounds_max"])
