/** Who draws the next card, and who has won: the rules of PROTOCOL.md, section 14. Pure. */

import { cardValue, handTotal } from "./cards.js";

/** Whether BANKER draws on a total, by what PLAYER's third card counts. */
const BANKER_DRAWS = {
  0: () => true,
  1: () => true,
  2: () => true,
  3: (third) => third !== 8,
  4: (third) => third >= 2 && third <= 7,
  5: (third) => third >= 4 && third <= 7,
  6: (third) => third === 6 || third === 7,
  7: () => false,
};

/** The side that gets the next card; null where the round is over. */
export function nextSide(player, banker) {
  if (player.length < 2 || banker.length < 2) return player.length > banker.length ? "banker" : "player";
  if (player.length === 2 && banker.length === 2 && (handTotal(player) >= 8 || handTotal(banker) >= 8)) return null;
  if (player.length === 2 && handTotal(player) <= 5 && banker.length === 2) return "player";
  if (banker.length > 2) return null;
  if (player.length === 2) return handTotal(banker) <= 5 ? "banker" : null;
  return BANKER_DRAWS[handTotal(banker)](cardValue(player[2])) ? "banker" : null;
}

/** Deal these cards in their order: the hands, and how many were taken; null where they are too few. */
export function dealHands(cards) {
  const hands = { player: [], banker: [] };
  for (let taken = 0; ; taken += 1) {
    const side = nextSide(hands.player, hands.banker);
    if (side === null) return { ...hands, taken, outcome: outcomeOf(hands) };
    if (taken === cards.length) return null;
    hands[side].push(cards[taken]);
  }
}

function outcomeOf({ player, banker }) {
  const [one, other] = [handTotal(player), handTotal(banker)];
  if (one === other) return "tie";
  return one > other ? "player" : "banker";
}
