/**
 * Remembers what was told of the shoe that is open, and checks each round as it ends and the shoe when it is revealed.
 *
 * It hears what is shown, in its order, so what it holds against the house is what the house said at the time. A round
 * that was not seen from its first card is not judged. Marks go to `marked`.
 */

import { CAN_HASH } from "../game/bytes.js";
import { checkBurn, checkDeal, checkRound, checkShoe } from "../game/proofs.js";

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
    this.incarnation = null;
    this.shoe = null;
    this.round = null;
    this.own = null;
    this.marks = [];
  }

  /** The mark of the newest round or shoe that has one. */
  get newest() {
    return this.marks[0] ?? null;
  }

  /**
   * Begin from a whole state. What was seen of the same shoe stays, but not over a change of incarnation: the store may
   * have forgotten it.
   */
  begin(view) {
    const { shoe, rules } = view;
    if (view.incarnation !== this.incarnation) {
      this.incarnation = view.incarnation;
      this.shoe = null;
      this.own = null;
    }
    if (shoe === null) {
      this.shoe = null;
    } else if (this.shoe?.number !== shoe.number || this.shoe.commitment !== shoe.commitment) {
      this.shoe = freshShoe(shoe.number, shoe.cards, shoe.commitment, rules);
    }
    this.round = null;
    if (this.shoe === null) return;
    this.shoe.root ??= shoe.merkle_root ?? null;
    this.shoe.cutCount ??= shoe.cuts ?? null;
    this.shoe.cutsDigest ??= shoe.cuts_digest ?? null;
    if (view.phase === "betting" || view.phase === "dealing") {
      const first = shoe.cards - shoe.remaining - (view.cardsOut ?? view.dealt.length);
      this.round = { number: view.round, cards: view.dealt.map((dealt) => dealt.card), place: first };
      for (const [at, card] of this.round.cards.entries()) this.shoe.seen.set(first + at, card);
    }
  }

  /** Take a numbered event as it is shown. */
  hear(event, rules) {
    switch (event.type) {
      case "shoe_started":
        this.shoe = freshShoe(event.shoe, event.cards, event.commitment, rules);
        this.own = null;
        return;
      case "betting_opened":
        this.round = { number: event.round, cards: [], place: null };
        return;
      case "betting_closed":
        if (this.shoe !== null && (event.cuts ?? null) !== null) {
          this.shoe.cutCount = event.cuts;
          this.shoe.cutsDigest = event.cuts_digest;
        }
        return;
      case "shoe_shuffled":
        if (this.shoe !== null) this.shoe.root = event.merkle_root;
        return;
      case "cards_burned":
        this.#burned(event);
        return;
      case "card_dealt":
        this.#dealt(event);
        return;
      case "round_decided":
        this.#decided(event);
        return;
      case "shoe_ended":
        this.#ended(event);
        return;
      default:
    }
  }

  /**
   * The own cut, sent in that incarnation, was taken. Where the table got another one before the answer came, the store
   * may have forgotten it, and a shoe of that number may come again: it is held against nobody.
   */
  hasCut(incarnation, shoe, cut, number) {
    if (this.incarnation === incarnation && this.shoe?.number === shoe) this.own = { cut, number };
  }

  #burned(event) {
    if (this.shoe === null) return;
    this.shoe.seen.set(0, event.card);
    if (this.shoe.root === null || !event.proof || !CAN_HASH) return;
    const { shoe } = this;
    checkBurn(shoe, event).then((wrong) => wrong !== null && this.#mark("round", event.round, MARK.FAILED, wrong));
  }

  #dealt(event) {
    if (this.shoe === null || this.round?.number !== event.round) return;
    const place = this.shoe.cards - event.remaining - 1;
    this.round.place ??= place;
    this.round.cards.push(event.card);
    this.shoe.seen.set(place, event.card);
    if (place !== this.round.place + this.round.cards.length - 1) this.round.isTorn = true;
  }

  #decided(event) {
    const { shoe, round } = this;
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

  async #ended(event) {
    const { shoe, own, round, incarnation } = this;
    this.shoe = null;
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
    for (let waited = 0; waited < FORGOTTEN_MS && this.incarnation === incarnation; waited += FORGOTTEN_LOOK_MS)
      await new Promise((done) => setTimeout(done, FORGOTTEN_LOOK_MS));
    return this.incarnation !== incarnation;
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

function freshShoe(number, cards, commitment, rules) {
  return {
    number,
    cards,
    commitment,
    decks: rules.decks,
    cutCard: rules.cut_card,
    root: null,
    cutCount: null,
    cutsDigest: null,
    seen: new Map(),
  };
}
