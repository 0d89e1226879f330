/** The rules of this house: what is drawn, what is paid, the odds and what the cap does to them, and how to play here. */

import { chances, returnOf } from "../game/odds.js";
import { uncappedStake } from "../game/settlement.js";
import { SPOT_NAMES, count, paysText, percentOf, variantName } from "../text/words.js";
import { openSheet } from "./dialog.js";
import { el } from "./dom.js";

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
  const percent = new Intl.NumberFormat(undefined, {
    style: "percent",
    minimumFractionDigits: 2,
    maximumFractionDigits: 2,
  });
  openSheet(
    `Rules of ${variantName(rules.variant)}`,
    [
      ...oddsPart(rules, money, percent),
      ...gamePart(rules, money),
      ...shoePart(rules),
      ...lineParts(rules),
      ...keysPart(),
    ],
    { kind: "wide" },
  );
}

function oddsPart(rules, money, percent) {
  const chance = chances(rules.decks);
  if (chance === null) return [];
  const spots = SPOTS.filter((spot) => spot in rules.maximums);
  const rows = spots.map((spot) => {
    const back = returnOf(rules, spot);
    const cells = [paysText(rules, spot), percent.format(chance[spot]), percent.format(back), percent.format(1 - back)];
    return el(
      "tr",
      {},
      el("th", { scope: "row" }, SPOT_NAMES[spot]),
      cells.map((cell) => el("td", {}, cell)),
    );
  });
  const head = ["Bet", "Pays", "Wins", "Comes back (RTP)", "House keeps"].map((name) =>
    el("th", { scope: "col" }, name),
  );
  return [
    el("h3", {}, "Odds of the first round of a fresh shoe"),
    el(
      "div",
      { class: "wide-table" },
      el("table", { class: "odds" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)),
    ),
    ...capPart(rules, spots, money, percent),
  ];
}

/** What the cap on wins does, in numbers. */
function capPart(rules, spots, money, percent) {
  if (rules.win_max === null) return [];
  const touched = spots
    .map((spot) => ({ spot, free: uncappedStake(rules, spot) }))
    .filter(({ free }) => free !== null)
    .map(({ spot, free }) => {
      const most = rules.maximums[spot];
      const before = percent.format(returnOf(rules, spot));
      const after = percent.format(returnOf(rules, spot, most));
      const name = SPOT_NAMES[spot];
      const fall = `at the limit of ${money.format(most)} the RTP falls from ${before} to ${after}`;
      return `It touches ${name} bets above ${money.format(free)}: ${fall}.`;
    });
  const none = "At the limits of this table no bet reaches it.";
  return [el("p", {}, `A win of one bet is capped at ${money.format(rules.win_max)}. ${touched.join(" ") || none}`)];
}

function gamePart(rules, money) {
  const lines = [
    "Player and Banker get two cards each. Aces count 1, tens and pictures 0; a hand counts the last digit of its sum.",
    "8 or 9 on two cards is a natural: no more cards are drawn.",
    "Else Player draws a third card on 0 to 5. Where Player stood, Banker draws on 0 to 5 too.",
    "Where Player drew, Banker draws on 0 to 2; on 3 unless it was an 8; on 4 if 2 to 7; on 5 if 4 to 7; on 6 if 6 or 7.",
    "The higher total wins. On a tie, Player and Banker bets come back.",
  ];
  if (rules.commission_bp > 0) {
    lines.push(
      `Banker wins pay ${percentOf(rules.commission_bp)} commission, rounded up to the smallest unit, on the whole bet.`,
    );
  }
  if (!("tie" in rules.maximums)) lines.push("This house takes no bets on the tie.");
  for (const pair of rules.forbidden_pairs) {
    lines.push(`Never together: ${pair.map((spot) => SPOT_NAMES[spot]).join(" and ")}.`);
  }
  const limits = SPOTS.filter((spot) => spot in rules.maximums).map(
    (spot) => `${SPOT_NAMES[spot]} ${money.formatShort(rules.minimum)} to ${money.formatShort(rules.maximums[spot])}`,
  );
  lines.push(`Limits: ${limits.join(", ")}.`);
  return [el("h3", {}, "The game"), list(lines)];
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
