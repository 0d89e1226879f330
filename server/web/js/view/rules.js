/** The rules of this house: its odds, what is drawn and paid, the shoe, and how to play here. */

import { SPOT_NAMES, count, percentOf, variantName } from "../text/words.js";
import { openSheet } from "./dialog.js";
import { el } from "./dom.js";
import { oddsPart } from "./odds.js";

const SPOTS = ["player", "banker", "tie"];

const KEYS = [
  ["P B T", "lay the chosen chip on Player, Banker, Tie"],
  ["1 – 9", "choose a chip"],
  ["U C R D", "undo, clear, repeat, double"],
  ["Enter", "deal"],
  ["Delete", "take the top chip off the spot in focus"],
];

/** Open the sheet. */
export function rulesSheet(rules, money) {
  openSheet(
    `Rules of ${variantName(rules.variant)}`,
    [...oddsPart(rules, money), ...gamePart(rules, money), ...shoePart(rules), ...lineParts(rules), ...keysPart()],
    { kind: "wide" },
  );
}

function gamePart(rules, money) {
  const lines = [
    "Player and Banker get two cards each. Aces count 1, tens and pictures 0; a hand counts the last digit of its sum.",
    "8 or 9 on two cards is a natural: no more cards are drawn.",
    "Else Player draws a third card on 0 to 5. Where Player stood, Banker draws on 0 to 5 too.",
    "Where Player drew, Banker draws on 0 to 2; on 3 unless it was an 8; on 4 if 2 to 7; on 5 if 4 to 7; on 6 if 6 or 7.",
    "The higher total wins, between two naturals too.",
    tieText(rules),
  ];
  if (rules.commission_bp > 0) {
    lines.push(
      `Banker wins pay ${percentOf(rules.commission_bp)} commission, rounded up to the smallest unit, on the whole bet.`,
    );
  }
  for (const pair of rules.forbidden_pairs) {
    lines.push(`Never together: ${pair.map((spot) => SPOT_NAMES[spot]).join(" and ")}.`);
  }
  const limits = SPOTS.filter((spot) => spot in rules.maximums).map(
    (spot) => `${SPOT_NAMES[spot]} ${money.formatShort(rules.minimum)} to ${money.formatShort(rules.maximums[spot])}`,
  );
  lines.push(`Limits: ${limits.join(", ")}.`);
  return [el("h3", {}, "The game"), list(lines)];
}

function tieText(rules) {
  if ("tie" in rules.maximums) return "On a tie, equal naturals included, Player and Banker bets come back.";
  return "This house takes no bets on the tie: equal totals, equal naturals included, are a stand-off, and all bets come back.";
}

function shoePart(rules) {
  const lines = [`The shoe has ${count(rules.decks, "deck", "decks")}.`];
  if (rules.stacked)
    lines.push("Its cards are prepared: this house is trying things out, and there is nothing to check.");
  else if (rules.shuffles_every_round) lines.push("Every round has a fresh shoe of its own.");
  else lines.push(`A cut card lies ${rules.cut_card} cards before its end; one more round is dealt after it comes.`);
  return [el("h3", {}, "The shoe"), list(lines)];
}

function lineParts(rules) {
  const grace = Math.round(rules.grace_ms / 1000);
  return [
    el("h3", {}, "If your line drops"),
    list([
      "Bets that lie stay and play out, as if you were there. Chips that the table has not confirmed do not count.",
      `Your seat waits ${grace} s for you. After that, and never while your bets lie, your chips go back to your wallet.`,
    ]),
    el("h3", {}, "Reading the roads"),
    list([
      "Bead plate: every round. Big road: a new column whenever the winner changes; a green stroke is a tie.",
      "A dot at the top left is a Banker pair, at the bottom right a Player pair.",
      "The three small roads tell how regular the big road is: red (plain) is regular, blue (with a dot, or leaning back) is not.",
      "They describe what was. The next round does not know them.",
    ]),
  ];
}

function keysPart() {
  const rows = KEYS.map(([keys, what]) => [el("dt", {}, el("kbd", {}, keys)), el("dd", {}, what)]);
  return [
    el("h3", {}, "Keys, anywhere on the felt"),
    el("dl", { class: "keys" }, rows.flat()),
    el("p", { class: "muted" }, "With a mouse, alt-click takes the top chip off a spot; with a finger, a long press."),
  ];
}

function list(lines) {
  return el(
    "ul",
    { class: "plain" },
    lines.map((line) => el("li", {}, line)),
  );
}
