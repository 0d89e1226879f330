"""What several processes saw of one table, held against each other."""

from msgspec.structs import replace

from client_sdk.bots import sightings
from client_sdk.bots.findings import Kind
from client_sdk.bots.report import Tally
from client_sdk.bots.sightings import Sightings, sighting_of
from client_sdk.protocol.messages import CardDealt
from tests.unit.bots.story import Story, rules_of

CARD = next(event for event in Story(rules_of("punto-banco")).play(1).events if isinstance(event, CardDealt))


def test_the_skew_is_that_of_all_processes() -> None:
    tally = Tally()
    seen = Sightings(tally.measure)
    assert seen.take([sighting_of("life", CARD, 100.0, 103.0, 5)]) == []
    assert seen.take([sighting_of("life", CARD, 99.0, 101.0, 1)]) == []
    seen.finish()
    assert (tally.skew_ms.total, tally.skew_ms.max_ms) == (1, 4.0)


def test_another_card_in_another_process_is_found() -> None:
    seen = Sightings(Tally().measure)
    seen.take([sighting_of("life", CARD, 0.0, 0.0, 1)])
    other = replace(CARD, card="Ah" if CARD.card != "Ah" else "2h")
    assert [(m.kind, m.seq) for m in seen.take([sighting_of("life", other, 0.0, 0.0, 1)])] == [(Kind.DIFFERS, CARD.seq)]
    assert seen.take([sighting_of("another life", other, 0.0, 0.0, 1)]) == []


def test_what_it_keeps_is_bounded(monkeypatch) -> None:
    monkeypatch.setattr(sightings, "EVENTS_MAX", 10)
    tally = Tally()
    seen = Sightings(tally.measure)
    for seq in range(1, 31):
        seen.take([sighting_of("life", replace(CARD, seq=seq), 0.0, 1.0, 2)])
    assert tally.skew_ms.total == 20
