/**
 * The roads of a shoe as the server tells them: whole, and then what each round adds. Pure. The server computes where
 * every mark lies; here they are only kept.
 */

export const ROWS = 6;
export const DERIVED = ["big_eye_boy", "small_road", "cockroach_pig"];

const OUTCOMES = { P: "player", B: "banker", T: "tie" };
const HAS = { player: "P2", banker: "B2" };

/** The roads with one more round. */
export function roadsAfter(roads, delta) {
  const derived = Object.fromEntries(
    DERIVED.map((road) => [road, withMark(roads.derived[road], delta.derived[road] ?? null)]),
  );
  const beads = roads.beads + delta.bead;
  return { ...roads, beads, big_road: withDecision(roads.big_road, delta.big_road), derived, next: delta.next };
}

function withMark(road, added) {
  return added === null ? road : { marks: road.marks + added.mark, places: [...road.places, added.place] };
}

function withDecision(road, added) {
  if (added === null) return road;
  if (added.number < road.marks.length) {
    return { ...road, ties: road.ties.map((ties, place) => (place === added.number ? added.ties : ties)) };
  }
  return {
    marks: road.marks + added.mark,
    places: [...road.places, added.place],
    ties: [...road.ties, added.ties],
  };
}

/** Each round of the roads, oldest first: outcome, pairs, naturals. */
export function beadsOf(roads) {
  const rounds = [];
  for (let at = 0; at + 3 <= roads.beads.length; at += 3) {
    const [outcome, pairs, naturals] = roads.beads.slice(at, at + 3);
    rounds.push({
      outcome: OUTCOMES[outcome],
      playerPair: HAS.player.includes(pairs),
      bankerPair: HAS.banker.includes(pairs),
      playerNatural: HAS.player.includes(naturals),
      bankerNatural: HAS.banker.includes(naturals),
    });
  }
  return rounds;
}

/** The marks of the big road, with the pairs of the rounds that made them. */
export function bigRoadOf(roads) {
  const decided = beadsOf(roads).filter((round) => round.outcome !== "tie");
  return cellsOf(roads.big_road).map((cell, number) => ({
    ...cell,
    side: OUTCOMES[cell.mark],
    ties: roads.big_road.ties[number],
    playerPair: decided[number]?.playerPair ?? false,
    bankerPair: decided[number]?.bankerPair ?? false,
  }));
}

/** The marks of any road, each with its column and row. */
export function cellsOf(road) {
  return road.places.map((place, number) => ({
    mark: road.marks[number],
    column: Math.floor(place / ROWS),
    row: place % ROWS,
  }));
}

/** Counts of the rounds of the roads. */
export function statisticsOf(roads) {
  const counts = { rounds: 0, player: 0, banker: 0, tie: 0, naturals: 0, playerPair: 0, bankerPair: 0 };
  for (const round of beadsOf(roads)) {
    counts.rounds += 1;
    counts[round.outcome] += 1;
    counts.naturals += round.playerNatural || round.bankerNatural ? 1 : 0;
    counts.playerPair += round.playerPair ? 1 : 0;
    counts.bankerPair += round.bankerPair ? 1 : 0;
  }
  return counts;
}
