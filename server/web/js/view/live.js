/** Says things to screen readers, in two regions of the page: what can wait, and what can't. */

import { say } from "./dom.js";

const KEEP_MS = 250;

class Region {
  constructor(element) {
    this.element = element;
    this.waiting = [];
    this.timer = null;
  }

  /** Say it together with what is said in the same moment. */
  add(text) {
    this.waiting.push(text);
    if (this.timer !== null) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      say(this.element, this.waiting.join(". "));
      this.waiting = [];
    }, KEEP_MS);
  }
}

let polite = null;
let assertive = null;

/** Phases, cards, results. */
export function announce(text) {
  polite ??= new Region(document.getElementById("polite"));
  polite.add(text);
}

/** Refusals, lost lines. */
export function alert(text) {
  assertive ??= new Region(document.getElementById("assertive"));
  assertive.add(text);
}
