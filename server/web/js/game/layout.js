/**
 * One patron's bets in one round as the acts that laid them, oldest first, and what each act makes of them. It says
 * what the table will refuse, in the table's own order, before anything is sent; only the table decides. Pure.
 *
 * An act is a list of [spot, amount]. A layout is a list of acts. `table` holds `rules`, `stack`, and `totals` over all
 * seats where they are known.
 */

export const SPOTS = ["player", "banker", "tie"];

/** The sum on each spot that carries a bet. */
export function sumsOf(layout) {
  const sums = {};
  for (const act of layout) for (const [spot, amount] of act) sums[spot] = (sums[spot] ?? 0) + amount;
  return sums;
}

/** All that lies. */
export function totalOf(sums) {
  return Object.values(sums).reduce((total, amount) => total + amount, 0);
}

/** The layout of sums of which nobody knows how they came about: one act. */
export function layoutOf(sums) {
  const act = SPOTS.filter((spot) => sums[spot] > 0).map((spot) => [spot, sums[spot]]);
  return act.length > 0 ? [act] : [];
}

/** Whether two layouts come to the same sums. */
export function sameSums(one, other) {
  return SPOTS.every((spot) => (one[spot] ?? 0) === (other[spot] ?? 0));
}

/** The spots with bets that exclude `spot` here. */
export function rivalsOf(rules, sums, spot) {
  return rules.forbidden_pairs
    .filter((pair) => pair.includes(spot))
    .map((pair) => pair.find((other) => other !== spot))
    .filter((other) => sums[other] > 0);
}

/**
 * What becomes of a layout by an act, or why it is refused: `{layout}` or `{refusal, spot}`.
 * @param {{type: string, spot?: string, chip?: number}} act as on the wire
 */
export function afterAct(layout, act, table) {
  switch (act.type) {
    case "place":
      return place(layout, act.spot, act.chip, table);
    case "undo":
      return undo(layout, act.spot ?? null, table.rules);
    case "clear":
      return { layout: [] };
    case "rebet":
      return rebet(layout, table);
    case "double":
      return double(layout, table);
    default:
      return { layout };
  }
}

function place(layout, spot, chip, { rules, stack, totals }) {
  const sums = sumsOf(layout);
  const amount = (sums[spot] ?? 0) + chip;
  if (!(spot in rules.maximums)) return { refusal: "SPOT_FORBIDDEN", spot };
  if (!rules.chips.includes(chip)) return { refusal: "CHIP_UNKNOWN", spot };
  if (rivalsOf(rules, sums, spot).length > 0) return { refusal: "SPOTS_CONFLICT", spot };
  if (amount > rules.maximums[spot]) return { refusal: "ABOVE_MAXIMUM", spot };
  if (amount < rules.minimum) return { refusal: "BELOW_MINIMUM", spot };
  if (isTooMuch([[spot, chip]], rules, totals)) return { refusal: "TABLE_MAXIMUM", spot };
  if (chip > stack) return { refusal: "INSUFFICIENT_STACK", spot };
  return { layout: [...layout, [[spot, chip]]] };
}

function undo(layout, spot, rules) {
  if (spot === null ? layout.length === 0 : !(sumsOf(layout)[spot] > 0)) return { refusal: "NOTHING_TO_UNDO", spot };
  const left = spot === null ? layout.slice(0, -1) : withoutNewest(layout, spot);
  const sums = sumsOf(left);
  const tooSmall = SPOTS.filter((other) => sums[other] > 0 && sums[other] < rules.minimum);
  return { layout: left.map((act) => act.filter(([on]) => !tooSmall.includes(on))).filter((act) => act.length > 0) };
}

function withoutNewest(layout, spot) {
  const acts = layout.map((act) => [...act]);
  const act = acts.findLast((candidate) => candidate.some(([on]) => on === spot));
  act.splice(
    act.findLastIndex(([on]) => on === spot),
    1,
  );
  return acts.filter((candidate) => candidate.length > 0);
}

function rebet(layout, { rules, stack, totals, lastBets }) {
  const act = SPOTS.filter((spot) => lastBets[spot] > 0).map((spot) => [spot, lastBets[spot]]);
  const spots = Object.fromEntries(act);
  if (layout.length > 0) return { refusal: "LAYOUT_NOT_EMPTY" };
  if (act.length === 0) return { refusal: "NOTHING_TO_REBET" };
  const found = (refusal, fits) => {
    const bet = act.find(fits);
    return bet === undefined ? null : { refusal, spot: bet[0] };
  };
  return (
    found("SPOT_FORBIDDEN", ([spot]) => !(spot in rules.maximums)) ??
    found("SPOTS_CONFLICT", ([spot]) => rivalsOf(rules, spots, spot).length > 0) ??
    found("ABOVE_MAXIMUM", ([spot, amount]) => amount > rules.maximums[spot]) ??
    found("BELOW_MINIMUM", ([, amount]) => amount < rules.minimum) ??
    (isTooMuch(act, rules, totals) ? { refusal: "TABLE_MAXIMUM" } : null) ??
    (totalOf(spots) > stack ? { refusal: "INSUFFICIENT_STACK" } : { layout: [act] })
  );
}

function double(layout, { rules, stack, totals }) {
  const sums = sumsOf(layout);
  const act = SPOTS.filter((spot) => sums[spot] > 0).map((spot) => [spot, sums[spot]]);
  if (act.length === 0) return { refusal: "NOTHING_TO_DOUBLE" };
  const over = act.find(([spot, amount]) => 2 * amount > rules.maximums[spot]);
  if (over !== undefined) return { refusal: "ABOVE_MAXIMUM", spot: over[0] };
  if (isTooMuch(act, rules, totals)) return { refusal: "TABLE_MAXIMUM" };
  if (totalOf(sums) > stack) return { refusal: "INSUFFICIENT_STACK" };
  return { layout: [...layout, act] };
}

/** What others lay in this moment is not known: with `totals` null nothing is refused for it. */
function isTooMuch(act, rules, totals) {
  if (totals === null || totals === undefined) return false;
  return act.some(
    ([spot, amount]) => spot in rules.table_maximums && (totals[spot] ?? 0) + amount > rules.table_maximums[spot],
  );
}
