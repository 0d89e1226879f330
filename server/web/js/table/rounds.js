/** The newest rounds in which the patron had bets, each once, the newest first. Pure. */

import { netOf } from "./view.js";

export const ROUNDS_MAX = 30;

/** A round as it is listed, from `results`, the own seat or a line of the history. */
export function playedRound(table, round, outcome, lines) {
  const staked = Object.values(lines).reduce((sum, line) => sum + line.stake, 0);
  return { table, round, outcome, lines, staked, net: netOf(lines) };
}

/** The list with these rounds in it; one that is there already stays as it is. */
export function withRounds(list, rounds) {
  const known = new Set(list.map((one) => `${one.table}/${one.round}`));
  const fresh = rounds.filter((one) => !known.has(`${one.table}/${one.round}`));
  return [...list, ...fresh].sort((one, other) => other.round - one.round).slice(0, ROUNDS_MAX);
}
