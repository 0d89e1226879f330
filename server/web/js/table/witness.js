/**
 * Checks each round as it ends, and the shoe when it is revealed, against what was told of them. A round that was not
 * seen from its first card is not judged. Marks go to `marked`.
 */

import { CAN_HASH } from "../game/bytes.js";
import { checkBurn, checkDeal, checkRound, checkShoe } from "../game/proofs.js";
import { Told } from "./told.js";

const MARKS_MAX = 60;
const CUTS_PAGE = 500;
const FORGOTTEN_MS = 3_000;
const FORGOTTEN_LOOK_MS = 50;

/** `checking`, `ok`, `failed`, `waits` (the secret comes later), `none` (nothing to check) or `unable`. */
export const MARK = {
  CHECKING: "checking",
  OK: "ok",
  FAILED: "failed",
  WAITS: "waits",
  NONE: "none",
  UNABLE: "unable",
};

export class Witness {
  /** @param {{ask: (request: object) => Promise<object>, table: string, marked: () => void}} given */
  constructor({ ask, table, marked }) {
    this.ask = ask;
    this.table = table;
    this.marked = marked;
    this.told = new Told();
    this.marks = [];
  }

  /** The mark of the newest round or shoe that has one. */
  get newest() {
    return this.marks[0] ?? null;
  }

  /** The open shoe as it was told, null between two. */
  get shoe() {
    return this.told.shoe;
  }

  /** The own cut in that shoe, or null. */
  get own() {
    return this.told.own;
  }

  /** Begin from a whole state. */
  begin(view) {
    this.told.begin(view);
  }

  /** Take a numbered event as it is shown. */
  hear(event, rules) {
    const { shoe, round, own } = this.told;
    this.told.hear(event, rules);
    if (event.type === "cards_burned") this.#burned(shoe, event);
    else if (event.type === "round_decided") this.#decided(shoe, round, event);
    else if (event.type === "shoe_ended") this.#ended(shoe, round, own, event);
  }

  /** The own cut, sent in that incarnation, was taken. */
  hasCut(incarnation, shoe, cut, number) {
    this.told.hasCut(incarnation, shoe, cut, number);
  }

  #burned(shoe, event) {
    if (shoe === null || shoe.root === null || !event.proof || !CAN_HASH) return;
    checkBurn(shoe, event).then((wrong) => wrong !== null && this.#mark("round", event.round, MARK.FAILED, wrong));
  }

  #decided(shoe, round, event) {
    if (shoe === null || round?.number !== event.round) return;
    if (shoe.commitment === "") {
      this.#mark("round", event.round, MARK.NONE, "the cards of this table are prepared");
    } else if (!CAN_HASH) {
      this.#mark("round", event.round, MARK.UNABLE, "browsers hash only on pages that came by https");
    } else if (round.isTorn) {
      this.#mark("round", event.round, MARK.FAILED, "cards were left out between those that were shown");
    } else if ((event.proofs ?? []).length === 0) {
      const wrong = checkDeal(round.cards, event.outcome);
      if (wrong !== null) this.#mark("round", event.round, MARK.FAILED, wrong);
      else this.#mark("round", event.round, MARK.WAITS, "the secret of its shoe comes when that ends");
    } else if (shoe.root !== null) {
      this.#mark("round", event.round, MARK.CHECKING, "");
      checkRound(shoe, { ...round, proofs: event.proofs, outcome: event.outcome }).then(
        (wrong) =>
          this.#mark(
            "round",
            event.round,
            wrong === null ? MARK.OK : MARK.FAILED,
            wrong ?? "every card was in the shoe before the first was shown",
          ),
        (error) => this.#mark("round", event.round, MARK.FAILED, error.message),
      );
    }
  }

  async #ended(shoe, round, own, event) {
    const { incarnation } = this.told;
    if (shoe === null || shoe.number !== event.shoe || shoe.commitment === "" || !CAN_HASH) return;
    const isOne = shoe.cutCard === null;
    const kind = isOne ? "round" : "shoe";
    const number = isOne ? (round?.number ?? 0) : event.shoe;
    if (isOne && round === null) return;
    this.#mark(kind, number, MARK.CHECKING, "");
    try {
      const cuts = await this.#listCuts(shoe);
      const wrong = await checkShoe(shoe, { secret: event.secret, cuts, seen: shoe.seen, own });
      if (wrong !== null && shoe.cutCount > 0 && (await this.#isForgotten(incarnation))) {
        this.#mark(kind, number, MARK.UNABLE, "the house has lost its records of that time");
        return;
      }
      this.#mark(
        kind,
        number,
        wrong === null ? MARK.OK : MARK.FAILED,
        wrong ?? "the secret opens the commitment and deals these cards",
      );
    } catch {
      this.#mark(kind, number, MARK.UNABLE, "the list of its cuts could not be read");
    }
  }

  /** Whether the table gets another incarnation than this: its store lost what it had told, perhaps this moment. */
  async #isForgotten(incarnation) {
    for (let waited = 0; waited < FORGOTTEN_MS && this.told.incarnation === incarnation; waited += FORGOTTEN_LOOK_MS)
      await new Promise((done) => setTimeout(done, FORGOTTEN_LOOK_MS));
    return this.told.incarnation !== incarnation;
  }

  async #listCuts(shoe) {
    const cuts = [];
    while (shoe.cutCount !== null && cuts.length < shoe.cutCount) {
      const request = { type: "list_cuts", table: this.table, shoe: shoe.number, after: cuts.length, limit: CUTS_PAGE };
      const page = await this.ask(request);
      cuts.push(...page.cuts);
      if (!page.more) break;
    }
    return cuts;
  }

  #mark(kind, number, state, why) {
    const before = this.marks.find((mark) => mark.kind === kind && mark.number === number);
    if (before?.state === MARK.FAILED) return; // whatever comes after it
    const mark = { kind, number, state, why };
    this.marks = [mark, ...this.marks.filter((other) => other !== before)].slice(0, MARKS_MAX);
    this.marked();
  }
}
