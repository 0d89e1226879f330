/**
 * What one event makes of a table's public state: view + event -> view. Pure, and it believes every event: numbers and
 * duplicates are the follower's matter, instants the timeline's. A round's cards stay until betting opens again.
 */

import { roadsAfter } from "../game/roads.js";

/** The state after a numbered event; of one that is not known only the number counts. */
export function viewAfter(view, event) {
  const next = { ...view, seq: event.seq };
  switch (event.type) {
    case "shoe_started":
      return { ...next, shoe: freshShoe(event), roads: event.roads ?? next.roads };
    case "betting_opened":
      return opened(next, event);
    case "betting_extended":
      return { ...next, closes_at_ms: event.closes_at_ms };
    case "betting_closed":
      return {
        ...next,
        phase: "dealing",
        round: event.round,
        closes_at_ms: event.closed_at_ms,
        crowd: { ...next.crowd, totals: event.totals },
      };
    case "shoe_shuffled":
      return { ...next, shoe: next.shoe === null ? null : { ...next.shoe, merkle_root: event.merkle_root } };
    case "cards_burned":
      return { ...next, shoe: withRemaining(next.shoe, event.remaining) };
    case "card_dealt":
      return {
        ...next,
        dealt: [...next.dealt, { side: event.side, card: event.card, show_at_ms: event.show_at_ms }],
        shoe: withRemaining(next.shoe, event.remaining),
      };
    case "round_decided":
      return {
        ...next,
        phase: "settling",
        round: event.round,
        outcome: event.outcome,
        roads: next.roads === null ? null : roadsAfter(next.roads, event.roads),
      };
    case "round_voided":
      return { ...next, phase: "settling", round: event.round, is_void: true };
    case "round_settled":
      return { ...next, phase: "settling", round: event.round };
    case "shoe_ended":
      return { ...next, shoe: null };
    case "table_idled":
      return { ...next, phase: "idle", round: event.round };
    case "table_paused":
      return { ...next, phase: "paused", round: event.round, reason: event.reason };
    case "table_resumed":
      return { ...next, phase: "idle", round: event.round };
    case "table_closed":
      return { ...next, phase: "closed", round: event.round, reason: event.reason, shoe: null };
    case "rules_changed":
      return { ...next, rules: event.rules };
    default:
      return next;
  }
}

/** The own seat after an accepted act. */
export function seatAfterReceipt(seat, receipt) {
  return { ...seat, stack: receipt.stack, bets: receipt.bets, ready: receipt.ready };
}

/** The own seat after its bets were settled. */
export function seatAfterResults(seat, results) {
  return {
    ...seat,
    stack: results.stack,
    bets: {},
    ready: false,
    last_bets: stakesOf(results.bets),
    last_round: results.round,
    last_outcome: results.outcome,
    last_results: results.bets,
  };
}

/** The bets that these lines settled. */
export function stakesOf(lines) {
  return Object.fromEntries(Object.entries(lines).map(([spot, line]) => [spot, line.stake]));
}

/** What a round brought beyond what was staked; below 0: it cost. */
export function netOf(lines) {
  return Object.values(lines).reduce((sum, line) => sum + line.payout - line.stake, 0);
}

function opened(view, event) {
  return {
    ...view,
    phase: "betting",
    round: event.round,
    opened_at_ms: event.opened_at_ms,
    closes_at_ms: event.closes_at_ms,
    shoe: view.shoe === null ? null : openedShoe(view.shoe, event),
    dealt: [],
    outcome: null,
    is_void: false,
    crowd: withoutBets(view.crowd),
    you: view.you === null ? null : { ...view.you, bets: {}, ready: false },
  };
}

function openedShoe(shoe, event) {
  return { ...shoe, is_last_round: event.is_last_round, first_round: shoe.first_round ?? event.round };
}

function withoutBets(crowd) {
  const seats = crowd.seats === null ? null : crowd.seats.map((seat) => ({ ...seat, bets: {}, ready: false }));
  return { ...crowd, ready: 0, totals: {}, bettors: {}, seats };
}

function freshShoe(event) {
  return {
    number: event.shoe,
    cards: event.cards,
    commitment: event.commitment,
    remaining: event.cards,
    is_last_round: false,
    first_round: null,
    merkle_root: null,
  };
}

function withRemaining(shoe, remaining) {
  return shoe === null ? null : { ...shoe, remaining };
}
