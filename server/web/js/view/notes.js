/** Short notes at the table: a refusal, what was missed. Few at a time; each goes by itself or by a click. */

import { button, el } from "./dom.js";
import { alert, announce } from "./live.js";

const NOTES_MAX = 4;
const STAY_MS = 6_000;

export class Notes {
  constructor() {
    this.element = el("div", { class: "notes" });
    this.timers = new Set();
  }

  /**
   * Show a note, in the place of one that says the same. `kind` is `bad`, `good` or empty; one that `stays` is only taken
   * away by its button.
   */
  add(text, { kind = "", stays = false, details = [] } = {}) {
    for (const other of [...this.element.children]) if (other.firstChild.textContent === text) other.remove();
    const note = el("div", { class: `note ${kind}` }, el("p", {}, text), ...details);
    note.append(button("×", { class: "note-close", "aria-label": "Dismiss" }, () => note.remove()));
    this.element.append(note);
    while (this.element.childElementCount > NOTES_MAX) this.element.firstElementChild.remove();
    (kind === "bad" ? alert : announce)(text);
    if (!stays) {
      const timer = setTimeout(() => {
        this.timers.delete(timer);
        note.remove();
      }, STAY_MS);
      this.timers.add(timer);
    }
    return note;
  }

  close() {
    for (const timer of this.timers) clearTimeout(timer);
    this.element.remove();
  }
}
