"""Every message of `punto.v1`, as typed values.

Three families: requests (client to server, decoded strictly), replies (answers to one request) and events (about a
table; numbered ones are the same for everybody, unnumbered ones are private or may be skipped). Both codecs carry the
same fields. `PROTOCOL.md` is this file in words; a test keeps them equal. `codec.py` turns them into bytes.

Units: amounts are integers in minor units of the installation's currency, durations end in `_ms`, instants in
`_at_ms` (milliseconds since 1970 on the clock of the table's store, which `ping` tells).
"""

from typing import Annotated, Any, Final

from msgspec import Meta, Struct

from client_sdk.game.derived_roads import DerivedRoad
from client_sdk.game.settlement import Result
from client_sdk.game.tableau import Outcome, Side
from client_sdk.game.variants import Spot

PROTOCOL_VERSION: Final = 1
SUBPROTOCOL_MSGPACK: Final = "punto.v1.msgpack"
SUBPROTOCOL_JSON: Final = "punto.v1.json"
REQUEST_BYTES_MAX: Final = 16_384
"""A larger frame from a client closes the connection with 1009."""
AMOUNT_MAX: Final = 2**53 - 1
"""Amounts stay exact in Lua and in JavaScript, whose numbers are doubles."""
LIMIT_MS_MAX: Final = 10 * 366 * 86_400_000
"""Ten years: the longest self-exclusion."""
STATEMENT_LINES_MAX: Final = 100
HISTORY_ROUNDS_MAX: Final = 50
TABLE_ROUNDS_MAX: Final = 50
"""In one page; the next page is asked for."""
CUTS_PAGE_MAX: Final = 500
"""In one page of a shoe's cuts."""
CUT_BYTES_MIN: Final = 8
CUT_BYTES_MAX: Final = 32

RequestId = Annotated[str, Meta(pattern=r"^[!-~]{1,64}\Z")]
TableId = Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9-]{0,63}\Z")]
Amount = Annotated[int, Meta(gt=0, le=AMOUNT_MAX)]
LineId = Annotated[str, Meta(pattern=r"^[1-9][0-9]{0,15}\Z")]
AmountOrZero = Annotated[int, Meta(ge=0, le=AMOUNT_MAX)]
LimitMs = Annotated[int, Meta(ge=0, le=LIMIT_MS_MAX)]
Number = Annotated[int, Meta(ge=0, le=AMOUNT_MAX)]
CutHex = Annotated[str, Meta(pattern=rf"^([0-9a-f]{{2}}){{{CUT_BYTES_MIN},{CUT_BYTES_MAX}}}\Z")]


def _hidden(token: str | None) -> str:
    """Say whether there is a token, never which."""
    return "None" if token is None else "..."


# --- requests ---------------------------------------------------------------------------------------------------------


class Request(Struct, frozen=True, kw_only=True, tag_field="type", forbid_unknown_fields=True):
    """What every request has: a `request_id` of the client's choice, told back in the reply."""

    request_id: RequestId


class Hello(Request, frozen=True, kw_only=True, tag="hello"):
    """First message of a connection. With `token` the patron it belongs to, else a new guest called `name` (open
    play)."""

    name: Annotated[str, Meta(max_length=256)] | None = None
    token: Annotated[str, Meta(max_length=4096)] | None = None
    bot: bool = False
    client: Annotated[str, Meta(max_length=64)] = ""

    def __repr__(self) -> str:
        return f"Hello(request_id={self.request_id!r}, name={self.name!r}, token={_hidden(self.token)})"


class Refresh(Request, frozen=True, kw_only=True, tag="refresh"):
    """Go on with a fresh token of the same patron in the same role, on this connection."""

    token: Annotated[str, Meta(max_length=4096)]

    def __repr__(self) -> str:
        return f"Refresh(request_id={self.request_id!r}, token={_hidden(self.token)})"


class ListTables(Request, frozen=True, kw_only=True, tag="list_tables"):
    """The lobby, in pages ordered by table id; `after` is the last id of the page before."""

    after: TableId | None = None


class Watch(Request, frozen=True, kw_only=True, tag="watch"):
    """Follow a table. `incarnation` and `seq`, as last seen, ask for what was missed instead of a snapshot."""

    table: TableId
    incarnation: Annotated[str, Meta(max_length=64)] | None = None
    seq: Number | None = None


class Unwatch(Request, frozen=True, kw_only=True, tag="unwatch"):
    """Stop following a table; a seat there counts as away from now on."""

    table: TableId


class Join(Request, frozen=True, kw_only=True, tag="join"):
    """Sit down (or take one's own seat over) and follow the table. `buy_in` moves from the wallet to the stack; a
    seated patron may join again to add chips. With `take_back` and no `buy_in` only the seat that one has is taken:
    NOT_SEATED where there is none. The resume fields are those of `watch`."""

    table: TableId
    buy_in: AmountOrZero = 0
    take_back: bool = False
    incarnation: Annotated[str, Meta(max_length=64)] | None = None
    seq: Number | None = None


class Leave(Request, frozen=True, kw_only=True, tag="leave"):
    """Give up the seat: at once, or after the round where bets lie. The stack goes back to the wallet."""

    table: TableId


class Act(Request, frozen=True, kw_only=True):
    """An act on one's bets in `round` of `table`."""

    table: TableId
    round: Number


class Place(Act, frozen=True, kw_only=True, tag="place"):
    """Lay one chip on a spot."""

    spot: Spot
    chip: Amount


class Undo(Act, frozen=True, kw_only=True, tag="undo"):
    """Take back the newest chip of `spot`, or without a spot the last act whole."""

    spot: Spot | None = None


class Clear(Act, frozen=True, kw_only=True, tag="clear"):
    """Take all bets back."""


class Rebet(Act, frozen=True, kw_only=True, tag="rebet"):
    """Lay the bets of the last round played, all or nothing, on an empty layout."""


class Double(Act, frozen=True, kw_only=True, tag="double"):
    """Lay again what lies on every spot, all or nothing."""


class Ready(Act, frozen=True, kw_only=True, tag="ready"):
    """Ask for the cards; when every connected seat is ready betting closes early. A later act takes it back."""


class Cut(Request, frozen=True, kw_only=True, tag="cut"):
    """Put 8 to 32 bytes (hex) of one's own choice into the open shoe, once, until its first betting closes: its order
    follows from them too."""

    table: TableId
    shoe: Number
    cut: CutHex


class ListCuts(Request, frozen=True, kw_only=True, tag="list_cuts"):
    """The cuts of a shoe in the order in which they were accepted, in pages, from its first close on; `after` counts
    those of the pages before."""

    table: TableId
    shoe: Number
    after: Number = 0
    limit: Annotated[int, Meta(ge=1, le=CUTS_PAGE_MAX)] = 200


class RecallShoe(Request, frozen=True, kw_only=True, tag="recall_shoe"):
    """All that was told of a shoe that has ended; without `shoe` of the last one."""

    table: TableId
    shoe: Number | None = None


class Statement(Request, frozen=True, kw_only=True, tag="statement"):
    """Every movement of the patron's own money, in pages, the newest line first; `before` is the last id of the page
    before."""

    before: LineId | None = None
    limit: Annotated[int, Meta(ge=1, le=STATEMENT_LINES_MAX)] = 50


class History(Request, frozen=True, kw_only=True, tag="history"):
    """The rounds that the patron has played, at any table, in pages, the newest first; `before` is the last id of the
    page before."""

    before: LineId | None = None
    limit: Annotated[int, Meta(ge=1, le=HISTORY_ROUNDS_MAX)] = 20


class Rounds(Request, frozen=True, kw_only=True, tag="rounds"):
    """The finished rounds of a table, whoever played them, in pages, the newest first; `before` is the last id of the
    page before."""

    table: TableId
    before: LineId | None = None
    limit: Annotated[int, Meta(ge=1, le=TABLE_ROUNDS_MAX)] = 20


class Limits(Request, frozen=True, kw_only=True, tag="limits"):
    """The patron's own limits, and how much of them is used."""


class SetLimits(Request, frozen=True, kw_only=True, tag="set_limits"):
    """Change the patron's own limits, each left as it is where it is null: amounts for a day, ms of play, ms between
    two reminders (0 takes one away), and for how many ms from now on to be excluded from play. What is stricter holds
    at once, what is looser after the house's time to think it over; an exclusion is never shortened."""

    stake_per_day: AmountOrZero | None = None
    loss_per_day: AmountOrZero | None = None
    session_ms: LimitMs | None = None
    reminder_ms: LimitMs | None = None
    exclude_ms: LimitMs | None = None


class Ping(Request, frozen=True, kw_only=True, tag="ping"):
    """Ask for the time on the clock of a table's store (without `table`: the node's own)."""

    table: TableId | None = None


AnyAct = Place | Undo | Clear | Rebet | Double | Ready
AnyRequest = (
    Hello
    | Refresh
    | ListTables
    | Watch
    | Unwatch
    | Join
    | Leave
    | Place
    | Undo
    | Clear
    | Rebet
    | Double
    | Ready
    | Cut
    | ListCuts
    | RecallShoe
    | Statement
    | History
    | Rounds
    | Limits
    | SetLimits
    | Ping
)


# --- parts ------------------------------------------------------------------------------------------------------------


class TableRules(Struct, frozen=True, kw_only=True):
    """What a table plays and allows. `maximums` has the spots that exist; `table_maximums` bounds what all seats have
    on a spot together (one that is left out has no bound); `win_max` caps the win of one bet (None: no cap);
    `cut_card` counts the cards behind it (None: shuffled every round); `stated_rtp` is the return in percent that the
    house prints, in its own digits (None: it prints none)."""

    variant: str
    decks: int
    shuffles_every_round: bool
    commission_bp: int
    tie_pays: int | None
    forbidden_pairs: list[list[Spot]]
    minimum: int
    maximums: dict[Spot, int]
    table_maximums: dict[Spot, int] = {}
    chips: list[int]
    win_max: int | None
    cut_card: int | None
    seats_max: int
    betting_ms: int
    card_ms: int
    result_ms: int
    grace_ms: int
    stacked: bool = False
    stated_rtp: str | None = None


class DealtCard(Struct, frozen=True, kw_only=True):
    """One card on the table, and the instant at which to turn it."""

    side: Side
    card: str
    show_at_ms: int


class CardProof(Struct, frozen=True, kw_only=True):
    """What proves a card against the shoe's Merkle root: its number among the shoe's cards, its salt and the sibling
    hashes from the leaf up (hex). Nothing in it tells of another card."""

    index: int
    salt: str
    path: list[str]


class BurnedCards(Struct, frozen=True, kw_only=True):
    """The shown first card of a shoe, and how many were burned, it included."""

    card: str
    count: int


class ShoeRound(Struct, frozen=True, kw_only=True):
    """A round of a shoe that has ended. No outcome: it was voided, perhaps before its last card."""

    round: int
    player: list[str]
    banker: list[str]
    outcome: Outcome | None


class EndedShoe(Struct, frozen=True, kw_only=True):
    """A shoe from its commitment to its secret, as the table's events told it. `cuts`, `cuts_digest` and `merkle_root`
    are None where betting never closed, and where the cards were prepared."""

    shoe: int
    decks: int
    cards: int
    cut_card: int | None
    commitment: str
    cuts: int | None
    cuts_digest: str | None
    merkle_root: str | None
    burned: BurnedCards | None
    rounds: list[ShoeRound]
    secret: str
    reason: str


class PatronCut(Struct, frozen=True, kw_only=True):
    """One cut of a shoe, in hex."""

    patron: str
    cut: str


class BetLine(Struct, frozen=True, kw_only=True):
    """What became of one bet. `payout` is all that comes back; `capped` is what the cap on wins took."""

    stake: int
    payout: int
    commission: int
    result: Result
    capped: int = 0


class SeatView(Struct, frozen=True, kw_only=True):
    """One seat as everybody sees it; `patron` is the public id, never a token."""

    patron: str
    name: str
    bot: bool
    connected: bool
    ready: bool
    bets: dict[Spot, int]


class CrowdView(Struct, frozen=True, kw_only=True):
    """The seats and the sums, as fresh as the last few hundred milliseconds. `seats` is left out (None) at big
    tables."""

    seated: int
    connected: int
    ready: int
    totals: dict[Spot, int]
    bettors: dict[Spot, int]
    seats: list[SeatView] | None = None


class ShoeView(Struct, frozen=True, kw_only=True):
    """The shoe as far as it may be known: `commitment` is SHA-256 of its secret in hex; `remaining` counts undealt
    cards. `cuts` and `cuts_digest` are there once they are frozen, `merkle_root` once it was told."""

    number: int
    cards: int
    commitment: str
    remaining: int
    is_last_round: bool
    first_round: int = 0
    cuts: int | None = None
    cuts_digest: str | None = None
    merkle_root: str | None = None


class BigRoadView(Struct, frozen=True, kw_only=True):
    """The big road: a letter (P or B), a place and a count of ties for each decision, oldest first. A place is column
    times six plus row, both from 0."""

    marks: str
    places: list[int]
    ties: list[int]


class DerivedRoadView(Struct, frozen=True, kw_only=True):
    """One of the derived roads: a colour (R or B) and a place for each of its marks, oldest first."""

    marks: str
    places: list[int]


class RoadStatistics(Struct, frozen=True, kw_only=True):
    """Counts of the rounds on the roads; player, banker and tie add up to `rounds`."""

    rounds: int
    player: int
    banker: int
    tie: int
    player_natural: int
    banker_natural: int
    player_pair: int
    banker_pair: int


class RoadsView(Struct, frozen=True, kw_only=True):
    """All roads. `beads` holds three letters for each round, oldest first: outcome, pairs, naturals
    (`client_sdk/game/beads.py`). They begin anew with each shoe (`rounds_max` None), or after `rounds_max` rounds.
    `next` is the mark that each derived road would get if the next decision were this side's (None: none yet)."""

    beads: str
    rounds_max: int | None
    big_road: BigRoadView
    derived: dict[DerivedRoad, DerivedRoadView]
    next: dict[Side, dict[DerivedRoad, str | None]]
    statistics: RoadStatistics


class BigRoadMark(Struct, frozen=True, kw_only=True):
    """The newest cell of the big road, `number` from 0: it is new, or has one tie more than before."""

    number: int
    mark: str
    place: int
    ties: int


class DerivedMark(Struct, frozen=True, kw_only=True):
    """A new mark of a derived road."""

    mark: str
    place: int


class RoadsDelta(Struct, frozen=True, kw_only=True):
    """What one round changed. No `big_road`: there are only ties yet; a derived road that is left out has no new
    mark."""

    bead: str
    big_road: BigRoadMark | None
    derived: dict[DerivedRoad, DerivedMark]
    next: dict[Side, dict[DerivedRoad, str | None]]


class OwnSeat(Struct, frozen=True, kw_only=True):
    """What a patron may know of the own seat. `last_bets` is what `rebet` would lay; `last_round`, `last_outcome`
    (None: voided) and `last_results` are the newest round in which the patron had bets; `cut` (hex) is what the patron
    has put into the open shoe."""

    stack: int
    ready: bool
    leaving: bool
    bets: dict[Spot, int]
    last_bets: dict[Spot, int]
    last_round: int | None = None
    last_outcome: Outcome | None = None
    last_results: dict[Spot, BetLine] | None = None
    cut: str | None = None


class TableView(Struct, frozen=True, kw_only=True):
    """The whole public state of a table at `seq`, plus the own seat (`you`, None for spectators)."""

    table: str
    incarnation: str
    seq: int
    at_ms: int
    rules: TableRules
    phase: str
    round: int
    opened_at_ms: int | None
    closes_at_ms: int | None
    shoe: ShoeView | None
    dealt: list[DealtCard]
    outcome: Outcome | None
    roads: RoadsView
    crowd: CrowdView
    is_void: bool = False
    you: OwnSeat | None = None


class TableSummary(Struct, frozen=True, kw_only=True):
    """One line of the lobby."""

    table: str
    rules: TableRules
    phase: str
    round: int
    closes_at_ms: int | None
    seated: int
    big_road: BigRoadView
    statistics: RoadStatistics


class StatementLine(Struct, frozen=True, kw_only=True):
    """One movement of a patron's money: `amount` is what it added to the wallet or to the stack at `table`, `balance`
    is what that held after it. A table's line has the `number` that it has in the table's ledger, and what of `round`,
    `verb`, `spot`, `chip`, `laid` and `stake` belongs to its kind; `transfer` counts the patron's buy-ins, or
    cash-outs, at that table."""

    id: str
    kind: str
    at_ms: int
    amount: int
    balance: int
    table: str | None = None
    number: int | None = None
    transfer: int | None = None
    round: int | None = None
    verb: str | None = None
    spot: Spot | None = None
    chip: int | None = None
    laid: dict[Spot, int] | None = None
    stake: int | None = None
    request_id: str | None = None


class LedgerMark(Struct, frozen=True, kw_only=True):
    """A place in a table's ledger: the entry `number`, made at `at_ms`; 0 and 0 before the first."""

    number: int
    at_ms: int


class PlayedRound(Struct, frozen=True, kw_only=True):
    """A round in which the patron had bets, as it was settled. No outcome: it was voided."""

    id: str
    at_ms: int
    table: str
    number: int
    round: int
    outcome: Outcome | None
    bets: dict[Spot, int]
    results: dict[Spot, BetLine]


class FinishedRound(Struct, frozen=True, kw_only=True):
    """A finished round of a table. No outcome: it was voided, and `void_reason` tells why; its hands are what was dealt
    by then. `first_card` is the place of its first card in the shoe, from 0; `totals` is what lay on each spot, `paid`
    the sum of all payouts to `settled` patrons."""

    id: str
    round: int
    shoe: int
    commitment: str
    first_card: int
    opened_at_ms: int
    closed_at_ms: int
    settled_at_ms: int
    player: list[str]
    banker: list[str]
    outcome: Outcome | None
    void_reason: str | None
    totals: dict[Spot, int]
    settled: int
    paid: int


class LimitValues(Struct, frozen=True, kw_only=True):
    """Limits of one side: minor units a day, ms of play from the first bet on. None: no limit."""

    stake_per_day: int | None = None
    loss_per_day: int | None = None
    session_ms: int | None = None


# --- replies ----------------------------------------------------------------------------------------------------------


class Reply(Struct, frozen=True, kw_only=True, tag_field="type", tag="ok"):
    """What every good answer has."""

    request_id: str


class Welcome(Reply, frozen=True, kw_only=True, tag="ok"):
    """Answer to `hello`. `token` is the identity from now on: keep it secret, send it in the next hello. `role` is
    patron, spectator or operator; a token that expires does so at `expires_at_ms`."""

    protocol: int
    server: str
    patron: str
    name: str
    token: str | None
    wallet: int
    currency: str
    exponent: int
    at_ms: int
    role: str = "patron"
    expires_at_ms: int | None = None

    def __repr__(self) -> str:
        return f"Welcome(patron={self.patron!r}, name={self.name!r}, token={_hidden(self.token)})"


class Refreshed(Reply, frozen=True, kw_only=True, tag="ok"):
    """Answer to `refresh`: until when the new token holds."""

    expires_at_ms: int | None


class TablesPage(Reply, frozen=True, kw_only=True, tag="ok"):
    """Answer to `list_tables`; `more` tells whether a page follows after the last id here."""

    tables: list[TableSummary]
    more: bool


class Watching(Reply, frozen=True, kw_only=True, tag="ok"):
    """Answer to `watch` and `join`. With `resumed` the missed numbered events follow, else `snapshot` is the state.

    `you` is the own seat, `wallet` what it holds after a buy-in (None for `watch`).
    """

    table: str
    resumed: bool
    snapshot: TableView | None
    you: OwnSeat | None = None
    wallet: int | None = None


class Left(Reply, frozen=True, kw_only=True, tag="ok"):
    """Answer to `leave` (and `unwatch`). `after_round`: bets lie, the seat is given up when the round has ended."""

    table: str
    after_round: bool = False
    wallet: int | None = None


class Receipt(Reply, frozen=True, kw_only=True, tag="ok"):
    """Answer to an act: what now lies on the spots, the stack after it, and the instant at which it was accepted."""

    table: str
    round: int
    accepted_at_ms: int
    stack: int
    bets: dict[Spot, int]
    ready: bool


class CutAccepted(Reply, frozen=True, kw_only=True, tag="ok"):
    """Answer to `cut`: `number` is its place in the shoe's list, from 1."""

    table: str
    shoe: int
    number: int
    accepted_at_ms: int


class CutsPage(Reply, frozen=True, kw_only=True, tag="ok"):
    """Answer to `list_cuts`."""

    table: str
    shoe: int
    cuts: list[PatronCut]
    more: bool


class ShoeRecalled(Reply, frozen=True, kw_only=True, tag="ok"):
    """Answer to `recall_shoe`."""

    table: str
    ended: EndedShoe


class StatementPage(Reply, frozen=True, kw_only=True, tag="ok"):
    """Answer to `statement`. `complete_to` tells for each table to which the patron's money ever went: every line of
    that table up to this mark is in the statement, later ones may follow."""

    lines: list[StatementLine]
    more: bool
    complete_to: dict[str, LedgerMark]


class HistoryPage(Reply, frozen=True, kw_only=True, tag="ok"):
    """Answer to `history`."""

    rounds: list[PlayedRound]
    more: bool


class RoundsPage(Reply, frozen=True, kw_only=True, tag="ok"):
    """Answer to `rounds`."""

    table: str
    rounds: list[FinishedRound]
    more: bool


class LimitsNow(Reply, frozen=True, kw_only=True, tag="ok"):
    """Answer to `limits` and `set_limits`. Of `own` and `house` the stricter holds; `next` is what `own` will be at
    `next_at_ms`. `staked` and `lost` count since there are limits, in the day (UTC) that ends at `day_ends_at_ms`; what
    lies counts as lost until it is settled, and `lost` is below 0 where more was won."""

    own: LimitValues
    house: LimitValues
    next: LimitValues | None
    next_at_ms: int | None
    reminder_ms: int | None
    excluded_until_ms: int | None
    session_at_ms: int | None
    session_until_ms: int | None
    staked: int
    lost: int
    day_ends_at_ms: int
    at_ms: int


class Pong(Reply, frozen=True, kw_only=True, tag="ok"):
    """Answer to `ping`."""

    at_ms: int


class Error(Struct, frozen=True, kw_only=True, tag_field="type", tag="error"):
    """A refusal. `field` names the offending field where there is one; a late act carries when it arrived and when
    betting had closed. `retry` tells whether the same request may be sent again under its request_id."""

    request_id: str | None
    code: int
    name: str
    message: str
    retry: bool = False
    field: str | None = None
    arrived_at_ms: int | None = None
    closed_at_ms: int | None = None


# --- numbered events: public, gapless, the same for every seat -------------------------------------------------------


class Event(Struct, frozen=True, kw_only=True, tag_field="type"):
    """What every numbered event has: the table and its `seq`, one more than that of the event before."""

    table: str
    seq: int


class ShoeStarted(Event, frozen=True, kw_only=True, tag="shoe_started"):
    """A fresh shoe; `commitment` binds the house to its secret before the first bet. `roads` where they begin anew with
    it, None where they go on."""

    shoe: int
    decks: int
    cards: int
    cut_card: int | None
    commitment: str
    roads: RoadsView | None


class BettingOpened(Event, frozen=True, kw_only=True, tag="betting_opened"):
    """Bets are taken until `closes_at_ms`, or until every connected seat is ready."""

    round: int
    shoe: int
    opened_at_ms: int
    closes_at_ms: int
    is_last_round: bool


class BettingExtended(Event, frozen=True, kw_only=True, tag="betting_extended"):
    """The store was away while bets should have been taken: the time it was away is added."""

    round: int
    closes_at_ms: int


class BettingClosed(Event, frozen=True, kw_only=True, tag="betting_closed"):
    """No more bets: no act that reached the store at or after `closed_at_ms` counts. In the first round of a shoe the
    list of its cuts is frozen with it: `cuts` counts them, `cuts_digest` (hex) binds the house to them; else None."""

    round: int
    closed_at_ms: int
    early: bool
    totals: dict[Spot, int]
    bettors: int
    cuts: int | None = None
    cuts_digest: str | None = None


class ShoeShuffled(Event, frozen=True, kw_only=True, tag="shoe_shuffled"):
    """The order of the shoe follows from its secret and its cuts; `merkle_root` (hex) binds the house to it before the
    first card."""

    shoe: int
    round: int
    merkle_root: str


class CardsBurned(Event, frozen=True, kw_only=True, tag="cards_burned"):
    """The first card of a fresh shoe is shown; it and `count - 1` unseen cards are burned. `proof` is the shown
    one's."""

    round: int
    shoe: int
    card: str
    count: int
    remaining: int
    show_at_ms: int
    proof: CardProof


class CardDealt(Event, frozen=True, kw_only=True, tag="card_dealt"):
    """One card, to be turned at `show_at_ms` and not before; `total` is the hand's total with it."""

    round: int
    side: Side
    card: str
    total: int
    remaining: int
    show_at_ms: int


class RoundDecided(Event, frozen=True, kw_only=True, tag="round_decided"):
    """The hands are complete. Naturals are true only for 8 or 9 on two cards. `roads` is what the round adds to them.
    `proofs` are those of the round's cards in deal order, none where the shoe ends with each round: its secret proves
    them."""

    round: int
    outcome: Outcome
    player: list[str]
    banker: list[str]
    player_total: int
    banker_total: int
    player_natural: bool
    banker_natural: bool
    show_at_ms: int
    roads: RoadsDelta
    proofs: list[CardProof]


class RoundVoided(Event, frozen=True, kw_only=True, tag="round_voided"):
    """The round does not count: every stake comes back, once. Cards already shown stay on record."""

    round: int
    reason: str


class RoundSettled(Event, frozen=True, kw_only=True, tag="round_settled"):
    """Every bet of the round was paid or collected; `next_at_ms` is when betting may open again. `seal` (hex) binds the
    house to every entry of the table's ledger up to number `sealed_to`."""

    round: int
    paid: int
    settled: int
    next_at_ms: int
    seal: str = ""
    sealed_to: int = 0


class ShoeEnded(Event, frozen=True, kw_only=True, tag="shoe_ended"):
    """The shoe is out (`reason` dealt) or was broken off, and its `secret` opens the commitment (hex). It is empty
    where the cards were prepared, and where the store's copy was altered so that nobody can open it."""

    shoe: int
    rounds: int
    secret: str
    reason: str


class TableIdled(Event, frozen=True, kw_only=True, tag="table_idled"):
    """Nobody is seated; the shoe stays where it is. `seal` and `sealed_to` are as in `round_settled`."""

    round: int
    seal: str = ""
    sealed_to: int = 0


class RulesChanged(Event, frozen=True, kw_only=True, tag="rules_changed"):
    """The table plays by these rules from its next round on."""

    rules: TableRules


class TablePaused(Event, frozen=True, kw_only=True, tag="table_paused"):
    """The house opens no round until `table_resumed`; seats and the shoe stay. `reason` is for people, '' without
    one."""

    round: int
    reason: str


class TableResumed(Event, frozen=True, kw_only=True, tag="table_resumed"):
    """A paused or closed table plays on; betting opens where somebody is seated."""

    round: int


class TableClosed(Event, frozen=True, kw_only=True, tag="table_closed"):
    """The table is closed: nobody is seated, and nobody can sit down. `reason` is as in `table_paused`."""

    round: int
    reason: str


AnyNumbered = (
    ShoeStarted
    | BettingOpened
    | BettingExtended
    | BettingClosed
    | ShoeShuffled
    | CardsBurned
    | CardDealt
    | RoundDecided
    | RoundVoided
    | RoundSettled
    | ShoeEnded
    | TableIdled
    | TablePaused
    | TableResumed
    | TableClosed
    | RulesChanged
)


# --- unnumbered events: private, or may be skipped --------------------------------------------------------------------


class Crowd(Struct, frozen=True, kw_only=True, tag_field="type", tag="crowd"):
    """Seats and sums while they change; sent a few times a second at most and skipped for a slow reader."""

    table: str
    round: int
    crowd: CrowdView


class Results(Struct, frozen=True, kw_only=True, tag_field="type", tag="results"):
    """Private: what became of this patron's bets in `round`, and the stack after it. No outcome: the round was
    voided."""

    table: str
    round: int
    outcome: Outcome | None
    bets: dict[Spot, BetLine]
    stack: int


class Snapshot(Struct, frozen=True, kw_only=True, tag_field="type", tag="snapshot"):
    """Sent unasked where events can't be followed gap by gap: after the reader was slow, or the table's incarnation
    changed."""

    table: str
    reason: str
    snapshot: TableView


class SeatTakenOver(Struct, frozen=True, kw_only=True, tag_field="type", tag="seat_taken_over"):
    """Private: another connection of this patron holds the seat now; this one is a spectator."""

    table: str


class SeatWarned(Struct, frozen=True, kw_only=True, tag_field="type", tag="seat_warned"):
    """Private: the seat is freed after `rounds_left` more rounds without a bet."""

    table: str
    rounds_left: int


class SeatFreed(Struct, frozen=True, kw_only=True, tag_field="type", tag="seat_freed"):
    """Private: the seat was given up (`left`, `away`, `idle`, `closed`); the stack went back to the wallet."""

    table: str
    reason: str
    wallet: int | None


# --- notices: private, of no table ------------------------------------------------------------------------------------


class TokenExpiring(Struct, frozen=True, kw_only=True, tag_field="type", tag="token_expiring"):
    """The connection's token ends soon: `refresh`, or the connection is closed then."""

    expires_at_ms: int


class SessionReminder(Struct, frozen=True, kw_only=True, tag_field="type", tag="session_reminder"):
    """The patron asked to be told how long it has been: `played_ms` since the session's first bet, or else since the
    hello of this connection; `staked` and `lost` as in `LimitsNow`."""

    played_ms: int
    session_until_ms: int | None
    staked: int
    lost: int


AnyNotice = TokenExpiring | SessionReminder
NOTICE_TYPES: Final = frozenset({"token_expiring", "session_reminder"})
AnyUnnumbered = Crowd | Results | Snapshot | SeatTakenOver | SeatWarned | SeatFreed
AnyEvent = (
    ShoeStarted
    | BettingOpened
    | BettingExtended
    | BettingClosed
    | ShoeShuffled
    | CardsBurned
    | CardDealt
    | RoundDecided
    | RoundVoided
    | RoundSettled
    | ShoeEnded
    | TableIdled
    | TablePaused
    | TableResumed
    | TableClosed
    | RulesChanged
    | Crowd
    | Results
    | Snapshot
    | SeatTakenOver
    | SeatWarned
    | SeatFreed
)
Message = dict[str, Any]
"""A decoded message before its types are checked."""
