/**
 * Where requests wait for their answers: each is sent in its order, sent again on the next line under the same id, and
 * decided once. It holds no socket: whoever owns one says when there is a line and which tables are not followed yet.
 */

import { Backoff } from "./backoff.js";
import { NoAnswer, Refused } from "./codes.js";

export const CALLS_MAX = 200;
export const CALL_MS = 60_000;
const RETRY = { lowestMs: 100, firstMs: 300, highestMs: 3_000 };

/** Ids that no other page of this patron makes: a random prefix for each page, and a counter. */
export function requestIds(bytes = crypto.getRandomValues(new Uint8Array(9))) {
  const prefix = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  let count = 0;
  return () => `${prefix}-${(count += 1)}`;
}

export class Desk {
  /**
   * @param {{newId: () => string, now: () => number, later: (run: () => void, ms: number) => unknown,
   *   chance?: () => number}} given
   */
  constructor({ newId, now, later, chance = Math.random }) {
    this.newId = newId;
    this.now = now;
    this.later = later;
    this.chance = chance;
    this.calls = new Map();
    this.held = new Set();
    this.send = null;
    this.endedBy = null;
  }

  /** How many requests have no answer yet. */
  get waiting() {
    return this.calls.size;
  }

  /**
   * Make a request; the answer comes as a promise, which fails with Refused or NoAnswer.
   * `isUrgent` does not wait until its table is followed again. `isOnce` takes "not now" for an
   * answer. `onSent` is told each time it goes out.
   */
  ask(request, { isUrgent = false, isOnce = false, onSent = null, timeoutMs = CALL_MS } = {}) {
    if (this.endedBy !== null) return Promise.reject(this.endedBy);
    if (this.calls.size >= CALLS_MAX) return Promise.reject(new NoAnswer("too many requests wait for an answer"));
    const message = { ...request, request_id: this.newId() };
    return new Promise((resolve, reject) => {
      const backoff = new Backoff(RETRY, this.chance);
      const dueMs = this.now() + timeoutMs;
      const call = { message, isUrgent, isOnce, onSent, resolve, reject, backoff, dueMs, line: null, isResting: false };
      this.calls.set(message.request_id, call);
      this.#post(call);
    });
  }

  /** There is a line, good for everybody: what waits goes out in the order in which it was asked for. */
  openLine(send) {
    this.send = send;
    this.#flush();
  }

  /** There is no line: what has no answer yet is sent again on the next one. */
  closeLine() {
    this.send = null;
  }

  /** Let requests about a table wait until `release`. */
  hold(table) {
    this.held.add(table);
  }

  /** Send what waits for a table. */
  release(table) {
    this.held.delete(table);
    this.#flush();
  }

  /** Forget a table's hold and its waiting requests: nobody is interested any more. */
  drop(table) {
    this.held.delete(table);
    for (const [id, call] of this.calls) {
      if (call.message.table === table) this.#fail(id, call, new NoAnswer("the table was left"));
    }
  }

  /** Take an answer off the wire; one that nobody waits for is passed over. */
  settle(reply) {
    const call = this.calls.get(reply.request_id);
    if (call === undefined) return;
    if (reply.type === "ok") {
      this.calls.delete(reply.request_id);
      call.resolve(reply);
      return;
    }
    const refusal = new Refused(reply);
    if (refusal.retry && !call.isOnce && this.now() < call.dueMs) {
      call.isResting = true;
      call.line = null;
      this.later(() => {
        call.isResting = false;
        if (this.calls.get(reply.request_id) === call) this.#post(call);
      }, call.backoff.next());
      return;
    }
    this.#fail(reply.request_id, call, refusal);
  }

  /** Give up what has waited too long. To be called now and then. */
  expire() {
    for (const [id, call] of this.calls) {
      if (this.now() >= call.dueMs) this.#fail(id, call, new NoAnswer("no answer came in time"));
    }
  }

  /** End every request, present and later ones. */
  end(error) {
    if (this.endedBy !== null) return;
    this.endedBy = error;
    for (const [id, call] of this.calls) this.#fail(id, call, error);
  }

  #fail(id, call, error) {
    this.calls.delete(id);
    call.reject(error);
  }

  #flush() {
    for (const call of this.calls.values()) this.#post(call);
  }

  #post(call) {
    if (this.send === null || call.line === this.send || call.isResting) return;
    if (!call.isUrgent && this.held.has(call.message.table)) return;
    call.line = this.send;
    call.onSent?.(this.now());
    this.send(call.message);
  }
}
