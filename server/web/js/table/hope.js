/**
 * What was asked of the table and is not answered yet, over what it has confirmed. Pure. What is hoped for is shown as
 * pending, and is what the next click is judged by.
 */

import { afterAct, layoutOf, sameSums, sumsOf, totalOf } from "../game/layout.js";

export class Hope {
  constructor() {
    this.layout = [];
    this.pending = [];
  }

  get isPending() {
    return this.pending.length > 0;
  }

  /** Whether an act of this type waits for its answer. */
  waitsFor(type) {
    return this.pending.some((entry) => entry.act.type === type);
  }

  /** An act has been sent. */
  add(act) {
    const entry = { act };
    this.pending.push(entry);
    return entry;
  }

  /** Its answer came: what lies now, or null where that is known better already. */
  answered(entry, bets, rules) {
    this.#drop(entry);
    if (bets === null) return;
    const after = afterAct(this.layout, entry.act, { rules, stack: Infinity, totals: null, lastBets: bets });
    const isAsThought = after.layout !== undefined && sameSums(sumsOf(after.layout), bets);
    this.layout = isAsThought ? after.layout : layoutOf(bets);
  }

  /** It was refused, or got no answer: nothing changed. */
  refused(entry) {
    this.#drop(entry);
  }

  /** What lies was told anew. */
  restart(bets) {
    if (!sameSums(sumsOf(this.layout), bets)) this.layout = layoutOf(bets);
  }

  /** What will lie if all that is pending is taken, and what the stack will be. */
  after({ rules, stack, lastBets, totals = null }) {
    let layout = this.layout;
    let left = stack;
    for (const { act } of this.pending) {
      const after = afterAct(layout, act, { rules, stack: left, totals, lastBets });
      if (after.layout === undefined) continue;
      left -= totalOf(sumsOf(after.layout)) - totalOf(sumsOf(layout));
      layout = after.layout;
    }
    return { layout, sums: sumsOf(layout), stack: left };
  }

  /** Why an act would be refused now, or null. */
  whyNot(act, table) {
    const { layout, stack } = this.after(table);
    const after = afterAct(layout, act, { ...table, stack });
    return after.refusal === undefined ? null : after;
  }

  #drop(entry) {
    this.pending = this.pending.filter((other) => other !== entry);
  }
}
