/** The page as a whole: who is here, which view is shown, and the tables that are followed. */

import { Session } from "./wire/session.js";
import { NAME_REFUSED, TOKEN_EXPIRED, TOKEN_REFUSED } from "./wire/codes.js";
import { SEAT } from "./table/own_seat.js";
import { Table } from "./table/table.js";
import { alone, forgetToken, hadSeat, keepSeat, keepToken, keptToken, takeToken } from "./identity.js";
import { Money } from "./text/money.js";
import { refusalText } from "./text/words.js";
import { LobbyView } from "./view/lobby.js";
import { TableView } from "./view/table.js";
import { lineBar } from "./view/line.js";
import { welcomeView } from "./view/welcome.js";
import { el } from "./view/dom.js";

const SHOWN_AGAIN = ["visibilitychange", "pageshow", "resume"];

export class App {
  constructor(root, url) {
    this.root = root;
    this.session = new Session({ url });
    this.tables = new Map();
    this.money = new Money(0, "");
    this.wallet = 0;
    this.mayPlay = true;
    this.view = null;
    this.bar = lineBar(this);
    this.place = el("div", { class: "place" });
  }

  start() {
    this.root.replaceChildren(this.bar.element, this.place);
    this.session.on("state", (state) => this.#lineChanged(state));
    this.session.on("notice", (notice) => this.#noticed(notice));
    addEventListener("hashchange", () => this.#route());
    addEventListener("online", () => this.session.hurry());
    for (const kind of SHOWN_AGAIN) document.addEventListener(kind, () => this.#wake());
    this.#enter();
  }

  // --- who is here ---

  #enter() {
    const token = takeToken() ?? keptToken();
    if (token !== null) this.session.start({ token });
    else this.#askWho("name");
  }

  #askWho(asked, notice = "") {
    const enter = asked === "name" ? (name) => this.#comeIn(name) : (token) => this.session.start({ token });
    this.#show(welcomeView(asked, enter, notice));
  }

  /** A first hello; another tab may have said one meanwhile. */
  #comeIn(name) {
    alone(async () => {
      const token = keptToken();
      this.session.start(token === null ? { name } : { token });
      await new Promise((resolve) => {
        const end = this.session.on("state", (state) => {
          if (state.kind === "connecting") return;
          end();
          resolve();
        });
      });
    });
  }

  /** What this browser was known by is worth nothing here: begin as somebody else. */
  #beginAnew(asked, notice) {
    if (this.session.identity.token) forgetToken(this.session.identity.token);
    for (const table of this.tables.values()) table.close();
    this.tables.clear();
    this.#askWho(asked, notice);
  }

  // --- the line ---

  #lineChanged(state) {
    if (state.kind === "open") this.#welcomed(this.session.welcome);
    else if (state.kind === "closed" && state.refusal !== null) this.#refused(state.refusal);
    this.bar.update(state);
  }

  #refused(refusal) {
    const { token = null } = this.session.identity;
    if (refusal.code === NAME_REFUSED) this.#beginAnew("name", refusalText(refusal));
    else if (refusal.code === TOKEN_REFUSED && token === null) this.#askWho("token");
    else if (token?.startsWith("guest."))
      this.#beginAnew("name", "This house does not know you any more. Come in as a new guest.");
    else
      this.#beginAnew(
        "token",
        refusal.code === TOKEN_EXPIRED ? "Your token has expired." : "Your token is not valid here.",
      );
  }

  #noticed(notice) {
    if (notice.type === "session_reminder") {
      const minutes = Math.round(notice.played_ms / 60_000);
      this.view.remind?.(
        `You have played for ${minutes} min; today's balance is ${this.money.formatSigned(-notice.lost)}.`,
      );
    }
    if (notice.type !== "token_expiring") return;
    const until = new Intl.DateTimeFormat(undefined, { timeStyle: "short" }).format(notice.expires_at_ms);
    this.bar.warn(`Your token ends at ${until}. Come again by the link of the house's site to stay.`);
  }

  #welcomed(welcome) {
    const isFirst = this.view === null || this.view.isWelcome;
    this.money = new Money(welcome.exponent, welcome.currency);
    this.wallet = welcome.wallet;
    this.name = welcome.name;
    this.patron = welcome.patron;
    this.mayPlay = welcome.role === "patron";
    keepToken(this.session.identity.token);
    if (isFirst) this.#route();
    else this.view.update?.();
  }

  #wake() {
    if (document.visibilityState !== "visible") return;
    this.session.hurry();
    for (const table of this.tables.values()) table.wake();
    this.view?.update?.();
  }

  // --- which view ---

  #route() {
    const token = takeToken();
    if (token !== null) this.#freshToken(token);
    if (this.session.welcome === null) return;
    const found = /^#\/table\/([a-z0-9][a-z0-9-]{0,63})$/.exec(location.hash);
    const id = found?.[1] ?? null;
    for (const [other, table] of this.tables) {
      if (other !== id && table.seat.kind !== SEAT.MINE) this.#closeTable(other);
    }
    this.#show(id === null ? new LobbyView(this) : new TableView(this, this.follow(id)));
  }

  /** A site has linked to here with a fresh token: of the same patron it goes on, of another one all begins anew. */
  async #freshToken(token) {
    try {
      await this.session.refresh(token);
      keepToken(token);
      this.bar.warn("");
    } catch {
      keepToken(token);
      location.reload();
    }
  }

  /** Follow a table no longer that nobody sits at or looks at. */
  letGo(id) {
    const table = this.tables.get(id);
    if (table !== undefined && table.seat.kind !== SEAT.MINE && this.view.table !== table) this.#closeTable(id);
  }

  /** The table of that id, followed from now on. */
  follow(id) {
    if (!this.tables.has(id)) {
      const table = new Table(this.session, id, { takesSeat: hadSeat(id) });
      table.on("wallet", (wallet) => {
        this.wallet = wallet;
        this.view?.update?.();
      });
      table.on("seat", (isMine) => keepSeat(id, isMine));
      this.tables.set(id, table);
    }
    return this.tables.get(id);
  }

  #closeTable(id) {
    this.tables.get(id).close();
    this.tables.delete(id);
  }

  #show(view) {
    this.view?.close?.();
    const isElement = view instanceof HTMLElement;
    this.view = isElement ? { isWelcome: true } : view;
    this.place.replaceChildren(isElement ? view : view.element);
    scrollTo(0, 0);
    this.view.opened?.();
  }
}
