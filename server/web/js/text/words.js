/** What the page says, in one place: short and exact. Pure. */

import * as codes from "../wire/codes.js";

export const SPOT_NAMES = { player: "Player", banker: "Banker", tie: "Tie" };
export const SPOT_LETTERS = { player: "P", banker: "B", tie: "T" };
export const VARIANT_NAMES = {
  royal: "Royal",
  "four-deck": "Four-Deck",
  "punto-banco": "Punto Banco",
  "stand-off": "Stand-Off",
  "red-lounge": "Red Lounge",
};

/** The house's name; a variant that is not known goes by its own name. */
export function variantName(variant) {
  return VARIANT_NAMES[variant] ?? variant;
}

/** "1 deck", "8 decks". */
export function count(number, one, many) {
  return `${number} ${number === 1 ? one : many}`;
}

/** Basis points as "5 %", on one line. */
export function percentOf(basisPoints) {
  return `${basisPoints / 100}\u00a0%`;
}

/** What a spot pays, as on the felt. */
export function paysText(rules, spot) {
  const pays = `${spot === "tie" ? rules.tie_pays : 1}\u00a0:\u00a01`;
  return spot === "banker" ? `${pays}, less ${percentOf(rules.commission_bp)}` : pays;
}

/** "Player wins, 9 over 6", "Tie at 7". */
export function outcomeText(outcome, playerTotal, bankerTotal) {
  if (outcome === "tie") return `Tie at ${playerTotal}`;
  const [high, low] = outcome === "player" ? [playerTotal, bankerTotal] : [bankerTotal, playerTotal];
  return `${SPOT_NAMES[outcome]} wins, ${high} over ${low}`;
}

/** What became of the own bets, in a sentence for each. */
export function resultTexts(lines, outcome, money) {
  return Object.entries(lines).map(([spot, line]) => {
    const bet = `${SPOT_NAMES[spot]} ${money.format(line.stake)}`;
    if (line.result === "push") return outcome === null ? `${bet} comes back` : `Tie, your ${bet} comes back`;
    if (line.result === "lose") return `${bet} lost`;
    const less = [];
    if (line.commission > 0) less.push(`${money.format(line.commission)} commission`);
    if (line.capped > 0) less.push(`${money.format(line.capped)} over the cap`);
    const net = money.format(line.payout - line.stake);
    return `${bet} won ${net}${less.length > 0 ? `, after ${less.join(" and ")}` : ""}`;
  });
}

const PHASES = {
  idle: "Waiting for a seat",
  betting: "No more bets",
  dealing: "Dealing",
  settling: "Round is over",
  paused: "Table is paused",
  closed: "Table is closed",
};

/** What a table is doing, where its timer says nothing. */
export function phaseText(phase) {
  return PHASES[phase] ?? phase;
}

/** Why no act of any kind can be made at a table now, or null. */
export function notNowText({ view, isFollowed, isPaused, takesBets }) {
  if (!isFollowed) return "Not while the line is down";
  if (isPaused || view.phase === "paused") return "The table is paused";
  return takesBets ? null : "Bets are closed";
}

/** That no round opens here for now, and what the house says of it; who comes later is told no reason. */
export function restText({ phase, reason = "" }) {
  return reason === "" ? phaseText(phase) : `${phaseText(phase)}: ${reason}`;
}

/** A duration for people: "0.2 s", "12 s". */
export function secondsText(ms) {
  const seconds = ms / 1000;
  return `${seconds < 10 ? Math.max(0.1, Math.round(seconds * 10) / 10) : Math.round(seconds)} s`;
}

/** Why the table will not take an act, said before it is sent. */
export function whyNotText({ refusal, spot }, rules, money, rivals = []) {
  switch (refusal) {
    case "SPOT_FORBIDDEN":
      return `This house takes no bets on ${SPOT_NAMES[spot]}`;
    case "CHIP_UNKNOWN":
      return "Choose a chip of this table";
    case "SPOTS_CONFLICT":
      return `Not together with ${rivals.map((rival) => SPOT_NAMES[rival]).join(" or ") || "the other bet"}`;
    case "ABOVE_MAXIMUM":
      return spot === undefined
        ? "Above the limit"
        : `The limit on ${SPOT_NAMES[spot]} is ${money.formatShort(rules.maximums[spot])}`;
    case "BELOW_MINIMUM":
      return `The least bet is ${money.formatShort(rules.minimum)}`;
    case "TABLE_MAXIMUM":
      return "The table takes no more on that spot this round";
    case "INSUFFICIENT_STACK":
      return "Not enough credits";
    case "NOTHING_TO_UNDO":
      return "Nothing to take back";
    case "NOTHING_TO_DOUBLE":
      return "No bet to double";
    case "NOTHING_TO_REBET":
      return "No bets of an earlier round";
    case "LAYOUT_NOT_EMPTY":
      return "Bets already lie";
    case "STAKE_LIMIT":
      return "That is more than your own limit on stakes lets today";
    case "LOSS_LIMIT":
      return "That is more than your own limit on losses lets today";
    case "SESSION_OVER":
      return "Your session is over: take the break that you asked for";
    case "SHOE_OVER":
    case "CUTS_CLOSED":
      return "Cuts are taken in the first betting of a shoe only";
    case "ALREADY_CUT":
      return "Your cut is in this shoe already";
    default:
      return "Not now";
  }
}

/** What was refused, in a sentence that says why. */
export function refusalText(error, rules, money) {
  const { reply } = error;
  if (reply === undefined) return "No answer came. What the table shows is what counts.";
  if (error.code === codes.BETTING_CLOSED || error.code === codes.ROUND_OVER) {
    if (reply.arrived_at_ms === null || reply.closed_at_ms === null || reply.arrived_at_ms < reply.closed_at_ms) {
      return "Too late: that round is over";
    }
    return `Too late: betting closed ${secondsText(reply.arrived_at_ms - reply.closed_at_ms)} before your bet arrived`;
  }
  switch (error.code) {
    case codes.SEAT_TAKEN_OVER:
      return "Your seat is held by another window";
    case codes.NOT_SEATED:
      return "You have no seat here any more";
    case codes.TABLE_FULL:
      return "The table is full";
    case codes.EXCLUDED:
      return "You have asked not to play for now";
    case codes.TABLE_CLOSED:
      return "The house lets nobody sit down here now";
    case codes.INSUFFICIENT_WALLET:
      return "Your wallet holds less than that";
    case codes.NAME_REFUSED:
      return "A name has 1 to 24 visible characters";
    default:
  }
  if (error.code >= 2110 && error.code <= 2199) return whyNotText({ refusal: reply.name }, rules, money);
  if (error.code >= 4000 && error.code <= 4999) return "The table could not be reached just now";
  return reply.message;
}

/** Why a seat is gone. */
export function freedText(reason) {
  switch (reason) {
    case "idle":
      return "Your seat was freed: no bet for many rounds. Your chips are in your wallet.";
    case "away":
      return "Your seat was freed while you were away. Your chips are in your wallet.";
    case "closed":
      return "The house has closed this table. Your chips are in your wallet.";
    case "left":
      return "You have left the table. Your chips are in your wallet.";
    default:
      return "You have no seat here any more.";
  }
}
