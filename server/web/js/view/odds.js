/** The odds of a house in figures: chances and returns, what the cap does to them, and what the house itself states. */

import { chances, meanReturn, returnOf } from "../game/odds.js";
import { uncappedStake } from "../game/settlement.js";
import { SPOT_NAMES, paysText } from "../text/words.js";
import { el } from "./dom.js";

const SPOTS = ["player", "banker", "tie"];
const COLUMNS = ["Bet", "Pays", "Wins", "Comes back (RTP)", "House keeps"];

/** The part of the rules that says it; nothing where nobody has counted so many decks. */
export function oddsPart(rules, money) {
  const chance = chances(rules.decks);
  if (chance === null) return [];
  const spots = SPOTS.filter((spot) => spot in rules.maximums);
  const percent = percentFormat(2);
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
  const head = COLUMNS.map((name) => el("th", { scope: "col" }, name));
  const texts = [capText(rules, spots, money, percent), statedText(rules, percent)].filter((text) => text !== null);
  return [
    el("h3", {}, "Odds of the first round of a fresh shoe"),
    el(
      "div",
      { class: "wide-table" },
      el("table", { class: "odds" }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)),
    ),
    ...texts.map((text) => el("p", {}, text)),
  ];
}

/** What the cap on wins does, in numbers. */
function capText(rules, spots, money, percent) {
  if (rules.win_max === null) return null;
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
  return `A win of one bet is capped at ${money.format(rules.win_max)}. ${touched.join(" ") || none}`;
}

/** The return that the house prints, beside the computed one that it is meant to be. */
function statedText(rules, percent) {
  const stated = Number(rules.stated_rtp ?? NaN);
  if (Number.isNaN(stated)) return null;
  const mean = meanReturn(rules);
  const isCut = Math.floor(mean * 10_000) === Math.round(stated * 100);
  const exact = percentFormat(4).format(mean);
  const texts = [
    `This house states an RTP of ${percent.format(stated / 100)}.`,
    isCut
      ? `That is the mean of the Player and the Banker bet, ${exact}, cut to two decimals; it leaves out the Tie bet.`
      : `The mean of the Player and the Banker bet is ${exact} here; the Tie bet is left out of it.`,
  ];
  if (rules.win_max !== null) {
    const capped = meanReturn(rules, { isAtLimit: true });
    texts.push(
      uncappedStake(rules, "player") === null && uncappedStake(rules, "banker") === null
        ? "The cap does not touch those two bets."
        : `At the limits of this table the cap lowers it to ${percent.format(capped)}.`,
    );
  }
  return texts.join(" ");
}

function percentFormat(digits) {
  return new Intl.NumberFormat(undefined, {
    style: "percent",
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
}
