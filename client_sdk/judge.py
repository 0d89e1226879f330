"""Asks for what a table tells of a shoe that has ended, and judges it.

Read next: `shoe_audit` for what is judged, `client_sdk.game.proofs` for how.
"""

import logging

from client_sdk.calls import fresh_request_id
from client_sdk.desk import Desk
from client_sdk.exceptions import ProtocolMismatch, ShoeDisputed, UnknownShoe
from client_sdk.game.cards import Card
from client_sdk.game.fairness import Cut
from client_sdk.game.proofs import Burn, Part, PlayedRound, ProofFailed, RevealedShoe, cuts_digest
from client_sdk.protocol.messages import CUTS_PAGE_MAX, CutsPage, EndedShoe, ListCuts, RecallShoe, ShoeRecalled
from client_sdk.shoe_audit import ShoeAudit

log = logging.getLogger(__name__)


async def judge(desk: Desk, audit: ShoeAudit) -> None:
    """Check a revealed shoe, with the cuts that the table tells; one with more cuts than the settings ask for is passed
    over. Raises ShoeDisputed, and what a call raises."""
    if audit.needs_cuts and (audit.cuts or 0) > desk.settings.cuts_checked_max:
        log.info("shoe_not_checked_whole", extra={"table": audit.table, "shoe": audit.number, "cuts": audit.cuts})
        return
    try:
        audit.check(await _cuts_of(desk, audit) if audit.needs_cuts else ())
    except ProofFailed as proof:
        raise ShoeDisputed(audit.table, proof) from None


async def list_cuts(desk: Desk, table: str, shoe: int) -> list[Cut]:
    """Read the whole list of a shoe's cuts, in the order in which they were accepted. Raises what a call raises."""
    cuts: list[Cut] = []
    for _ in range(desk.settings.pages_max):
        page = await desk.ask(
            ListCuts(request_id=fresh_request_id(), table=table, shoe=shoe, after=len(cuts), limit=CUTS_PAGE_MAX),
            CutsPage,
        )
        cuts += [(told.patron.encode(), _bytes(told.cut)) for told in page.cuts]
        if not page.more:
            return cuts
        if not page.cuts:
            raise ProtocolMismatch("a page with cuts", "an empty one that promises more")
    raise ProtocolMismatch(f"at most {desk.settings.pages_max} pages of cuts", "more")


async def recall_shoe(desk: Desk, table: str, shoe: int | None) -> RevealedShoe:
    """Read all that was told of a shoe that has ended, None for the last one. Raises what a call raises, and
    ProtocolMismatch for one of prepared cards, which prove nothing."""
    request = RecallShoe(request_id=fresh_request_id(), table=table, shoe=shoe)
    ended = (await desk.ask(request, ShoeRecalled)).ended
    if not ended.commitment:
        raise ProtocolMismatch("a shoe with a commitment", "prepared cards")
    return revealed(table, ended, await list_cuts(desk, table, ended.shoe))


def revealed(table: str, ended: EndedShoe, cuts: list[Cut]) -> RevealedShoe:
    """Put a shoe as the table tells it into the form in which it is checked and kept."""
    burned = ended.burned
    return RevealedShoe(
        table=table,
        number=ended.shoe,
        decks=ended.decks,
        cut_card=ended.cut_card,
        commitment=ended.commitment,
        cuts=tuple(cuts),
        cuts_digest=ended.cuts_digest or cuts_digest(cuts),
        root=ended.merkle_root,
        secret=_bytes(ended.secret),
        burn=None if burned is None else Burn(Card(burned.card), burned.count),
        rounds=tuple(
            PlayedRound(played.round, _hand(played.player), _hand(played.banker), played.outcome)
            for played in ended.rounds
        ),
        reason=ended.reason,
    )


async def _cuts_of(desk: Desk, audit: ShoeAudit) -> list[Cut]:
    try:
        return await list_cuts(desk, audit.table, audit.number)
    except UnknownShoe:
        raise ProofFailed(Part.CUTS, "the cuts", f"{audit.cuts} of them", "a list that nobody tells") from None


def _hand(cards: list[str]) -> tuple[Card, ...]:
    return tuple(map(Card, cards))


def _bytes(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ProtocolMismatch("bytes in hex", "something else") from None
