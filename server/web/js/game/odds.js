/** Chances and returns of the first round of a fresh shoe, from exact counts. Pure. */

import { ROUND_COUNTS } from "./round_counts.js";
import { settleBet } from "./settlement.js";

const OUTCOMES = ["player", "banker", "tie"];
/** A stake on which no commission is rounded. */
const UNROUNDED_STAKE = 10_000;

/** The chance of each outcome; null where nobody has counted so many decks. */
export function chances(decks) {
  const counts = ROUND_COUNTS[decks];
  if (counts === undefined) return null;
  const total = counts.player + counts.banker + counts.tie;
  return Object.fromEntries(OUTCOMES.map((outcome) => [outcome, counts[outcome] / total]));
}

/**
 * What a bet brings back in the mean, the stake included, per unit of stake. With a stake given its rounded commission
 * and the cap count; without one neither does.
 */
export function returnOf(rules, spot, stake = null) {
  const chance = chances(rules.decks);
  if (chance === null) return null;
  const used = stake === null ? { ...rules, win_max: null } : rules;
  const laid = stake ?? UNROUNDED_STAKE;
  return OUTCOMES.reduce(
    (sum, outcome) => sum + (chance[outcome] * settleBet(used, spot, laid, outcome).payout) / laid,
    0,
  );
}

/** The mean of what the Player and the Banker bet bring back: the return that houses like to state. */
export function meanReturn(rules, { isAtLimit = false } = {}) {
  const backs = ["player", "banker"].map((spot) => returnOf(rules, spot, isAtLimit ? rules.maximums[spot] : null));
  return (backs[0] + backs[1]) / 2;
}
