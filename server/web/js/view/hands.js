/** The two hands and their totals. A card slides from the shoe and turns; its total counts with it, never before. */

import { drawBack, drawCard } from "../draw/card.js";
import { handTotal } from "../game/cards.js";
import { el, isCalm, say, set, show } from "./dom.js";

const SIDES = ["player", "banker"];
const TURN_MS = 350;

export class Hands {
  constructor() {
    this.sides = Object.fromEntries(SIDES.map((side) => [side, hand(side)]));
    this.fresh = 0;
    this.shown = { player: [], banker: [] };
    this.timers = new Set();
  }

  /** The next card that is rendered comes flying. */
  expect() {
    this.fresh += 1;
  }

  render(view) {
    const isOver = view.outcome !== null || view.is_void;
    for (const side of SIDES) {
      const cards = view.dealt.filter((dealt) => dealt.side === side).map((dealt) => dealt.card);
      this.#renderSide(side, cards, isOver);
      const { element } = this.sides[side];
      set(
        element,
        "data-state",
        view.outcome === null ? null : view.outcome === side ? "won" : view.outcome === "tie" ? "tied" : "lost",
      );
    }
    this.fresh = 0;
  }

  close() {
    for (const timer of this.timers) clearTimeout(timer);
  }

  #renderSide(side, cards, isOver) {
    const part = this.sides[side];
    const before = this.shown[side];
    const goesOn = before.length <= cards.length && before.every((card, place) => card === cards[place]);
    if (!goesOn) part.cards.replaceChildren();
    const have = goesOn ? before.length : 0;
    const flies = this.fresh > 0 && cards.length - have === 1 && !isCalm();
    for (let place = have; place < cards.length; place += 1) part.cards.append(cardNode(cards[place], place, flies));
    this.shown[side] = cards;
    if (cards.length === have && goesOn && !isOver) return;
    if (flies && !isOver) {
      const timer = setTimeout(() => {
        this.timers.delete(timer);
        this.#renderTotal(side);
      }, TURN_MS);
      this.timers.add(timer);
    } else {
      this.#renderTotal(side);
    }
  }

  #renderTotal(side) {
    const cards = this.shown[side];
    const part = this.sides[side];
    say(part.total, cards.length === 0 ? "" : String(handTotal(cards)));
    const isNatural = cards.length === 2 && handTotal(cards) >= 8;
    show(part.natural, isNatural);
  }
}

function hand(side) {
  const cards = el("div", { class: "cards" });
  const total = el("span", { class: "total" });
  const natural = el("span", { class: "natural", hidden: true }, "natural");
  const name = side === "player" ? "Player" : "Banker";
  const head = el("div", { class: "hand-head" }, el("h2", {}, name), total, natural);
  const element = el("section", { class: `hand hand-${side}`, "aria-label": `${name} hand` }, head, cards);
  return { element, cards, total, natural };
}

function cardNode(card, place, flies) {
  const turner = el("div", { class: "card-turner" }, drawCard(card), flies ? drawBack() : null);
  return el(
    "div",
    { class: `card${place === 2 ? " card-third" : ""}${flies ? " card-flies" : ""}`, "data-card": card },
    turner,
  );
}
