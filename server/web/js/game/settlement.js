/** What a bet brings, in whole minor units: the rules of PROTOCOL.md, section 14. Pure. */

/** `{payout, commission, capped}` of a stake on `spot` where the round ended with `outcome`. */
export function settleBet(rules, spot, stake, outcome) {
  const push = outcome === "tie" && spot !== "tie";
  if (spot !== outcome) return { payout: push ? stake : 0, commission: 0, capped: 0 };
  const commission = spot === "banker" ? Math.ceil((stake * rules.commission_bp) / 10_000) : 0;
  const win = spot === "tie" ? stake * rules.tie_pays : stake - commission;
  const capped = rules.win_max === null ? 0 : Math.max(0, win - rules.win_max);
  return { payout: stake + win - capped, commission, capped };
}

/** The greatest stake on a spot that the cap does not touch; null where it touches none that the table takes. */
export function uncappedStake(rules, spot) {
  const { win_max: winMax, maximums } = rules;
  if (winMax === null || settleBet(rules, spot, maximums[spot], spot).capped === 0) return null;
  let [low, high] = [0, maximums[spot]];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (settleBet(rules, spot, middle, spot).capped === 0) low = middle;
    else high = middle;
  }
  return low;
}
