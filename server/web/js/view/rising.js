/** An amount that counts up to what was won. It ends at once where motion is not wanted, and always at the exact sum. */

import { isCalm, say } from "./dom.js";

const RISE_MS = 600;

export class Rising {
  constructor(element) {
    this.element = element;
    this.amount = null;
    this.frame = null;
  }

  /** Show a won amount as `format` writes it; null shows nothing. One that is shown already is left alone. */
  render(amount, format) {
    if (amount === this.amount) return;
    this.amount = amount;
    if (this.frame !== null) cancelAnimationFrame(this.frame);
    this.frame = null;
    if (amount === null) say(this.element, "");
    else if (isCalm() || document.visibilityState !== "visible") say(this.element, format(amount));
    else this.#rise(null, format);
  }

  #rise(sinceMs, format) {
    this.frame = requestAnimationFrame((nowMs) => {
      this.frame = null;
      const part = Math.min(1, (nowMs - (sinceMs ?? nowMs)) / RISE_MS);
      say(this.element, format(Math.round(this.amount * part)));
      if (part < 1) this.#rise(sinceMs ?? nowMs, format);
    });
  }
}
