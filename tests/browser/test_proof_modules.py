"""The page's own checks of rounds and shoes, run in the browser: they find what the library finds, and every lie."""

import copy
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from client_sdk.game.cards import Card, card_of_index
from client_sdk.game.fairness import commitment, shuffle
from client_sdk.game.merkle import CardProof, ShoeTree, shoe_tree
from client_sdk.game.proofs import cuts_digest
from client_sdk.game.tableau import deal_hands

pytestmark = pytest.mark.asyncio(loop_scope="session")

Run = Callable[..., Awaitable[Any]]

SECRET = bytes(range(32))
CUTS = ((b"g1", bytes.fromhex("ce8ed6d5182c696b")), ("ä".encode(), bytes(32)))
SHOES = [(1, 3, ()), (4, 2**40, CUTS[:1]), (8, 1, CUTS)]

CHECK = """async (module, { shoe, rounds, told }) => {
  const { checkRound, checkShoe } = await module("game/proofs.js");
  const found = [];
  for (const round of rounds) found.push(await checkRound(shoe, round));
  const seen = rounds.flatMap(({ place, cards }) => cards.map((card, at) => [place + at, card]));
  found.push(await checkShoe(shoe, { ...told, seen }));
  return found;
}"""


def told_proof(proof: CardProof) -> dict[str, Any]:
    """A proof as on the wire."""
    return {"index": proof.index, "salt": proof.salt.hex(), "path": [beside.hex() for beside in proof.path]}


def told_shoe(decks: int, number: int, cuts: tuple[tuple[bytes, bytes], ...], rounds: int = 3) -> dict[str, Any]:
    """A shoe as a page remembers it, with its first rounds."""
    order = shuffle(SECRET, decks, number, cuts)
    tree: ShoeTree = shoe_tree(SECRET, decks, number, order)
    place, played = 5, []
    for _ in range(rounds):
        hands = deal_hands([card_of_index(index) for index in order[place:]])
        places = range(place, place + hands.cards_used)
        played.append(
            {
                "cards": [card_of_index(order[at]) for at in places],
                "place": place,
                "proofs": [told_proof(tree.proof(at)) for at in places],
                "outcome": str(hands.outcome),
            }
        )
        place += hands.cards_used
    shoe = {
        "number": number,
        "decks": decks,
        "cards": 52 * decks,
        "commitment": commitment(SECRET),
        "root": tree.root.hex(),
        "cutCount": len(cuts),
        "cutsDigest": cuts_digest(cuts),
    }
    listed = [{"patron": patron.decode(), "cut": cut.hex()} for patron, cut in cuts]
    return {"shoe": shoe, "rounds": played, "told": {"secret": SECRET.hex(), "cuts": listed, "own": None}}


async def test_the_tableau_is_the_librarys(run: Run) -> None:
    """Every pair of totals and every third card, by the cards that are drawn."""
    ranks = "TA23456789"
    cases = [
        list(map(Card, (a + "h", b + "c", "Td", "Tc", third + "s", "9d")))
        for a in ranks
        for b in ranks
        for third in ranks
    ]
    found = await run(
        """async (module, cases) => {
          const { dealHands } = await module("game/tableau.js");
          return cases.map((cards) => { const { taken, outcome } = dealHands(cards); return [taken, outcome]; });
        }""",
        cases,
    )
    for cards, said in zip(cases, found, strict=True):
        hands = deal_hands(cards)
        assert said == [hands.cards_used, str(hands.outcome)], cards


@pytest.mark.parametrize(("decks", "number", "cuts"), SHOES)
async def test_what_is_true_passes(run: Run, decks: int, number: int, cuts: tuple[tuple[bytes, bytes], ...]) -> None:
    told = told_shoe(decks, number, cuts)
    assert await run(CHECK, told) == [None] * 4
    if cuts:
        told["told"]["own"] = {"number": 1, "cut": cuts[0][1].hex()}
        assert await run(CHECK, told) == [None] * 4


LIES: list[tuple[str, Callable[[Any], None], int]] = [
    ("card", lambda t: t["rounds"][0]["cards"].__setitem__(0, "Xx"), 0),
    ("place", lambda t: t["rounds"][1].__setitem__("place", t["rounds"][1]["place"] + 1), 1),
    ("outcome", lambda t: t["rounds"][0].__setitem__("outcome", "none"), 0),
    ("salt", lambda t: t["rounds"][0]["proofs"][0].__setitem__("salt", "00" * 16), 0),
    ("short salt", lambda t: t["rounds"][0]["proofs"][0].__setitem__("salt", "00"), 0),
    ("index", lambda t: t["rounds"][0]["proofs"][0].__setitem__("index", 415), 0),
    ("index beyond", lambda t: t["rounds"][0]["proofs"][0].__setitem__("index", 10_000), 0),
    ("path", lambda t: t["rounds"][0]["proofs"][1]["path"].pop(), 0),
    ("longer path", lambda t: t["rounds"][0]["proofs"][1]["path"].append("00" * 32), 0),
    ("no proofs", lambda t: t["rounds"][0].__setitem__("proofs", []), 0),
    ("root", lambda t: t["shoe"].__setitem__("root", "00" * 32), 0),
    ("secret", lambda t: t["told"].__setitem__("secret", "00" * 32), 3),
    ("no secret", lambda t: t["told"].__setitem__("secret", ""), 3),
    ("cut", lambda t: t["told"]["cuts"][0].__setitem__("cut", "00" * 8), 3),
    ("order of cuts", lambda t: t["told"]["cuts"].reverse(), 3),
    ("a cut less", lambda t: t["told"]["cuts"].pop(), 3),
    ("own cut", lambda t: t["told"].__setitem__("own", {"number": 1, "cut": "00" * 8}), 3),
    ("number", lambda t: t["shoe"].__setitem__("number", 2), 3),
    ("decks", lambda t: t["shoe"].__setitem__("decks", 6), 3),
]


async def test_every_lie_is_found_where_it_is(run: Run) -> None:
    true = told_shoe(8, 1, CUTS)
    for name, lie, at in LIES:
        told = copy.deepcopy(true)
        lie(told)
        found = await run(CHECK, told)
        assert found[at], name
        assert all(isinstance(one, str | None) for one in found)


LATE_CUT = """async (module, { view, at }) => {
  const { Witness } = await module("table/witness.js");
  const witness = new Witness({ ask: null, table: "royal-1", marked: () => {} });
  witness.begin(view);
  const sentIn = witness.told.incarnation;
  if (at === "later") witness.begin({ ...view, incarnation: "life-2" });
  witness.hasCut(sentIn, view.shoe.number, "00".repeat(16), 1);
  return witness.told.own;
}"""


async def test_a_cut_that_is_answered_in_another_life_of_the_table_is_held_against_nobody(run: Run) -> None:
    """The store was set back between the answer and its arrival: a shoe of that number comes again without the cut."""
    shoe = {"number": 35, "cards": 416, "remaining": 416, "commitment": "11" * 32}
    view = {
        "incarnation": "life-1",
        "rules": {"decks": 8, "cut_card": 14},
        "phase": "betting",
        "round": 7,
        "dealt": [],
        "shoe": shoe,
    }
    assert await run(LATE_CUT, {"view": view, "at": "once"}) == {"cut": "00" * 16, "number": 1}
    assert await run(LATE_CUT, {"view": view, "at": "later"}) is None
