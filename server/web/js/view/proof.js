/** The mark that says whether the newest round was checked, and the sheet with all that was published and checked. */

import { MARK } from "../table/witness.js";
import { refusalText } from "../text/words.js";
import { openSheet } from "./dialog.js";
import { button, el, fill, say, set, show } from "./dom.js";

const SIGNS = {
  [MARK.CHECKING]: ["…", "checking"],
  [MARK.OK]: ["✓", "proof ok"],
  [MARK.FAILED]: ["✗", "proof failed"],
  [MARK.WAITS]: ["…", "proof to come"],
  [MARK.NONE]: ["", "nothing to check"],
  [MARK.UNABLE]: ["", "not checked"],
};
const CUT_BYTES = 16;
const INTRODUCTION = [
  "Before the first bet of a shoe the house publishes a commitment to its secret;",
  "before the first card, a root that binds every card to its place.",
  "Your browser checks each round against them, by itself.",
].join(" ");

export class ProofMark {
  constructor(table, notes) {
    this.table = table;
    this.notes = notes;
    this.sign = el("span", { class: "proof-sign", "aria-hidden": "true" });
    this.words = el("span", {});
    this.element = button("", { class: "quiet proof-mark", title: "What was checked" }, () => this.#open());
    this.element.append(this.sign, this.words);
    this.sheet = null;
  }

  render() {
    const mark = this.table.witness.newest;
    const [sign, words] = mark === null ? ["", "proofs"] : SIGNS[mark.state];
    say(this.sign, sign);
    say(this.words, words);
    set(this.element, "data-state", mark?.state ?? null);
    this.sheet?.render();
  }

  #open() {
    this.sheet = proofSheet(this.table, this.notes);
    this.sheet.render();
    openSheet("Proofs", this.sheet.element, { kind: "wide", onClose: () => (this.sheet = null) });
  }
}

function proofSheet(table, notes) {
  const facts = el("dl", { class: "proof-facts" });
  const body = el("tbody", {});
  const none = el("p", { class: "muted" }, "No round has ended since you came.");
  const cutText = el("p", {});
  const cut = button("Put in a random cut", {}, () => putIn(table, notes));
  const head = el(
    "tr",
    {},
    ["Round", "Checked", "What was found"].map((name) => el("th", { scope: "col" }, name)),
  );
  const element = el(
    "div",
    {},
    el("p", {}, INTRODUCTION),
    el("h3", {}, "The open shoe"),
    facts,
    el("h3", {}, "Your cut"),
    cutText,
    cut,
    el("h3", {}, "Checked"),
    none,
    el(
      "div",
      { class: "wide-table", tabindex: "0", role: "region", "aria-label": "Checked rounds" },
      el("table", { class: "records proofs" }, el("thead", {}, head), body),
    ),
  );
  const render = () => {
    fill(facts, factsOf(table));
    const { marks } = table.witness;
    show(none, marks.length === 0);
    body.replaceChildren(...marks.map(row));
    const may = mayCut(table);
    say(cutText, cutTextOf(table, may));
    show(cut, may);
  };
  return { element, render };
}

function factsOf(table) {
  const { shoe } = table.witness;
  if (shoe === null) return [el("dt", {}, "No shoe is open"), el("dd", {})];
  const cuts = shoe.cutCount === null ? "taken until the first betting of the shoe closes" : String(shoe.cutCount);
  const pairs = [
    ["Number", String(shoe.number)],
    ["Commitment", shoe.commitment || "none: the cards are prepared"],
    ["Cuts by patrons", cuts],
    ["Digest of the cuts", shoe.cutsDigest ?? "not yet"],
    ["Root", shoe.root ?? "not yet"],
  ];
  return pairs.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]);
}

function row(mark) {
  const [sign, words] = SIGNS[mark.state];
  const name = mark.kind === "shoe" ? `Shoe ${mark.number}` : String(mark.number);
  return el(
    "tr",
    { "data-state": mark.state },
    [name, `${sign} ${words}`.trim(), mark.why].map((cell) => el("td", {}, cell)),
  );
}

/** A cut is taken in the first betting of a shoe, from whoever holds a seat, once. */
function mayCut(table) {
  const { shoe } = table.witness;
  const { view, you } = table;
  const isFirst = view?.shoe?.first_round === view?.round;
  return (
    shoe !== null &&
    shoe.commitment !== "" &&
    table.takesBets &&
    isFirst &&
    (you.cut ?? null) === null &&
    table.witness.own === null
  );
}

function cutTextOf(table, may) {
  const cut = table.witness.own?.cut ?? table.you?.cut ?? null;
  if (cut !== null) return `Yours is in this shoe: ${cut}`;
  if (may) return "Bytes of yours go into the shuffle, so that the house can't have chosen the order.";
  return "A seat may put one in during the first betting of each shoe.";
}

async function putIn(table, notes) {
  const bytes = crypto.getRandomValues(new Uint8Array(CUT_BYTES));
  try {
    await table.cut(Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(""));
    notes.add("Your cut is in this shoe", { kind: "good" });
  } catch (error) {
    notes.add(refusalText(error), { kind: "bad" });
  }
}
