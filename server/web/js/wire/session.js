/**
 * Keeps one patron connected for as long as the page lives: open a line, say hello, listen, come back.
 *
 * By the close code of a line it decides whether another one is opened. A line that takes requests and gives no sign is
 * dropped after `quietMs`, so that nobody looks at a frozen table. What the patron has at stake is never its matter.
 */

import { Emitter } from "../base.js";
import { Backoff } from "./backoff.js";
import { NoAnswer, PROTOCOL_VERSION, Refused, SUBPROTOCOL, mayReconnect } from "./codes.js";
import { Desk, requestIds } from "./desk.js";

export const LIMITS = { dialMs: 8_000, beatMs: 4_000, quietMs: 5_000, stableMs: 10_000 };
const RECONNECT = { lowestMs: 50, firstMs: 1_000, highestMs: 15_000 };
const GOING_AWAY = 4000;

/**
 * `state.kind`: `idle` (nothing was begun), `connecting` (never was a connection), `open`, `reconnecting`, `closed`
 * (nothing will be tried any more). `state.attempts` counts failed attempts, `state.why` tells why the last line went.
 * Tells of each `state`, each `event` of a table, each `notice` that belongs to none, and each `line`: a new one (true)
 * or a lost one (false).
 */
export class Session extends Emitter {
  constructor({
    url,
    openSocket = (address, protocol) => new WebSocket(address, protocol),
    now = () => performance.now(),
    later = (run, ms) => setTimeout(run, ms),
    never = (timer) => clearTimeout(timer),
    chance = Math.random,
    limits = LIMITS,
  }) {
    super();
    this.url = url;
    this.openSocket = openSocket;
    this.now = now;
    this.later = later;
    this.never = never;
    this.limits = limits;
    this.backoff = new Backoff(RECONNECT, chance);
    this.desk = new Desk({ newId: requestIds(), now, later, chance });
    this.state = { kind: "idle", attempts: 0, why: "" };
    this.welcome = null;
    this.identity = null;
    this.line = null;
    this.timers = new Set();
  }

  /** Begin. `identity` is `{token}` or `{name}`; may be called again after an end that a new identity can mend. */
  start(identity) {
    this.identity = identity;
    this.welcome = null;
    this.desk = new Desk({ newId: this.desk.newId, now: this.now, later: this.later, chance: this.desk.chance });
    this.#become("connecting", 0, "");
    this.#dial();
  }

  /** End for good: no further attempt. */
  stop() {
    this.#end("closed by you");
  }

  /** Make a request; see Desk.ask. */
  ask(request, how) {
    return this.desk.ask(request, how);
  }

  /** Go on with a fresh token of the same patron. Fails where it is refused. */
  async refresh(token) {
    await this.ask({ type: "refresh", token });
    this.identity = { token };
  }

  /** The network may be back, or somebody is looking again: do not wait out the pause. */
  hurry() {
    if (this.line === null && (this.state.kind === "connecting" || this.state.kind === "reconnecting")) {
      this.backoff.reset();
      this.#clearTimers();
      this.#dial();
    } else if (this.state.kind === "open") {
      this.#beat(this.line);
    }
  }

  // --- the line ---

  #dial() {
    let socket;
    try {
      socket = this.openSocket(this.url, SUBPROTOCOL);
    } catch (error) {
      this.#end(error.message);
      return;
    }
    const line = { socket, isOpen: false, heardMs: this.now(), openedMs: null };
    this.line = line;
    socket.onopen = () => this.#greet(line);
    socket.onmessage = (message) => this.#hear(line, message.data);
    socket.onclose = (close) => this.#lose(line, close.code, close.reason);
    this.#after(this.limits.dialMs, () => {
      if (this.line === line && !line.isOpen) this.#drop(line, "no answer");
    });
  }

  #greet(line) {
    if (this.line !== line) return;
    const { name = null, token = null } = this.identity;
    const hello = token === null ? { type: "hello", name } : { type: "hello", token };
    line.helloId = this.desk.newId();
    this.#send(line, { ...hello, request_id: line.helloId, client: "punto-page" });
  }

  #send(line, message) {
    if (line.socket.readyState === 1) line.socket.send(JSON.stringify(message));
  }

  #hear(line, text) {
    if (this.line !== line) return;
    line.heardMs = this.now();
    const message = JSON.parse(text);
    if (message.type !== "ok" && message.type !== "error") {
      this.emit(message.table === undefined ? "notice" : "event", message);
    } else if (message.request_id === line.helloId) {
      this.#settleIn(line, message);
    } else {
      this.desk.settle(message);
    }
  }

  #settleIn(line, reply) {
    if (reply.type === "error") {
      const refusal = new Refused(reply);
      if (refusal.retry) this.#drop(line, reply.message);
      else this.#end(reply.message, refusal);
      return;
    }
    if (reply.protocol !== PROTOCOL_VERSION) {
      this.#end("this page is older or newer than the server: load it again");
      return;
    }
    this.welcome = reply;
    if (reply.token !== null) this.identity = { token: reply.token };
    line.isOpen = true;
    line.openedMs = this.now();
    this.#become("open", 0, "");
    this.emit("line", true);
    this.desk.openLine((message) => this.#send(line, message));
    this.#keepBeating(line);
  }

  #keepBeating(line) {
    this.#after(this.limits.beatMs, () => {
      if (this.line !== line) return;
      this.desk.expire();
      this.#beat(line);
      this.#keepBeating(line);
    });
  }

  /** Ask for a sign of life, and drop a line that gives none. */
  #beat(line) {
    const askedMs = this.now();
    this.desk.ask({ type: "ping" }, { isUrgent: true }).catch(() => {});
    this.#judgeSilence(line, askedMs, askedMs + this.limits.quietMs);
  }

  #judgeSilence(line, askedMs, dueMs) {
    this.#after(dueMs - this.now(), () => {
      if (this.line !== line || line.heardMs >= askedMs) return;
      // A timer that comes late was slept through, and the answer may wait behind it.
      if (this.now() - dueMs > 1_000) this.#judgeSilence(line, askedMs, this.now() + this.limits.quietMs);
      else this.#drop(line, "the line went silent");
    });
  }

  /** Do not wait for a close that may never come. */
  #drop(line, why) {
    line.socket.close();
    this.#lose(line, 1006, why);
  }

  #lose(line, code, why) {
    if (this.line !== line) return;
    this.line = null;
    this.#clearTimers();
    this.desk.closeLine();
    const wasOpen = line.isOpen;
    if (wasOpen) this.emit("line", false);
    if (!mayReconnect(code)) {
      this.#end(why || `closed by the server (${code})`);
      return;
    }
    if (wasOpen && this.now() - line.openedMs >= this.limits.stableMs) this.backoff.reset();
    const kind = this.welcome === null ? "connecting" : "reconnecting";
    // An attempt that fails says nothing new of why the last line went.
    const reason = code === GOING_AWAY ? "going away" : wasOpen ? why : this.state.why || why;
    this.#become(kind, wasOpen ? 0 : this.state.attempts + 1, reason);
    this.#after(this.backoff.next(), () => this.#dial());
  }

  #end(why, refusal = null) {
    const line = this.line;
    this.line = null;
    this.#clearTimers();
    line?.socket.close();
    if (line?.isOpen) this.emit("line", false);
    this.desk.end(new NoAnswer(why));
    this.#become("closed", this.state.attempts, why, refusal);
  }

  #become(kind, attempts, why, refusal = null) {
    this.state = { kind, attempts, why, refusal };
    this.emit("state", this.state);
  }

  // --- time ---

  #after(ms, run) {
    const timer = this.later(
      () => {
        this.timers.delete(timer);
        run();
      },
      Math.max(0, ms),
    );
    this.timers.add(timer);
  }

  #clearTimers() {
    for (const timer of this.timers) this.never(timer);
    this.timers.clear();
  }
}
