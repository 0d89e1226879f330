/** The ring that drains until bets close, on the table's clock. It draws itself for each picture, and only while needed. */

import { svg } from "../draw/svg.js";
import { SPOT_LETTERS, phaseText } from "../text/words.js";
import { el, say, set } from "./dom.js";

const RADIUS = 44;
const LENGTH = 2 * Math.PI * RADIUS;
const LAST_MS = 5_000;

export class TimerRing {
  constructor(table) {
    this.table = table;
    this.arc = svg("circle", {
      cx: 50,
      cy: 50,
      r: RADIUS,
      class: "timer-arc",
      "stroke-dasharray": LENGTH.toFixed(2),
      transform: "rotate(-90 50 50)",
    });
    this.digits = el("span", { class: "timer-digits", "aria-hidden": "true" });
    this.words = el("span", { class: "timer-words" });
    this.element = el(
      "div",
      { class: "timer", role: "timer", "aria-live": "off" },
      svg("svg", { viewBox: "0 0 100 100", "aria-hidden": "true" }, [
        svg("circle", { cx: 50, cy: 50, r: RADIUS, class: "timer-track" }),
        this.arc,
      ]),
      this.digits,
      this.words,
    );
    this.frame = null;
  }

  /** Draw what is now, and go on for as long as bets are open. */
  render() {
    if (this.frame === null) this.#draw();
  }

  close() {
    if (this.frame !== null) cancelAnimationFrame(this.frame);
  }

  #draw() {
    this.frame = null;
    const { table } = this;
    const view = table.view;
    if (view === null) return;
    const left = table.leftMs;
    const isOpen = view.phase === "betting" && left > 0;
    const length = Math.max(1, view.closes_at_ms - view.opened_at_ms);
    set(
      this.element,
      "data-state",
      isOpen ? (left <= LAST_MS ? "last" : "open") : view.phase === "idle" ? "idle" : "closed",
    );
    const part = isOpen ? Math.min(1, left / length) : 0;
    set(this.arc, "stroke-dashoffset", (LENGTH * (1 - part)).toFixed(1));
    say(this.digits, isOpen ? String(Math.ceil(left / 1000)) : "");
    set(this.element, "data-outcome", isOpen || view.phase !== "settling" ? null : view.outcome);
    say(this.words, isOpen ? "" : wordsOf(view));
    if (isOpen) this.frame = requestAnimationFrame(() => this.#draw());
  }
}

function wordsOf(view) {
  if (view.phase === "paused" || view.phase === "closed" || view.phase === "idle") return phaseText(view.phase);
  if (view.is_void) return "Round is void";
  return view.outcome === null ? "No more bets" : SPOT_LETTERS[view.outcome];
}
