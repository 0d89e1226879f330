/**
 * Remembers what was told of the shoe that is open and of the round that is played, in the order in which it was shown.
 * Pure, and it judges nothing: what is held against the house is what the house said at the time.
 */

export class Told {
  constructor() {
    this.incarnation = null;
    this.shoe = null;
    this.round = null;
    this.own = null;
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
        this.shoe?.seen.set(0, event.card);
        return;
      case "card_dealt":
        this.#dealt(event);
        return;
      case "shoe_ended":
        this.shoe = null;
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

  #dealt(event) {
    if (this.shoe === null || this.round?.number !== event.round) return;
    const place = this.shoe.cards - event.remaining - 1;
    this.round.place ??= place;
    this.round.cards.push(event.card);
    this.shoe.seen.set(place, event.card);
    if (place !== this.round.place + this.round.cards.length - 1) this.round.isTorn = true;
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
