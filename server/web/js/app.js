/** The page as a whole: who is here, which view is shown, and the tables that are followed. */

import { Session } from "./wire/session.js";
import { NAME_REFUSED, TOKEN_REFUSED } from "./wire/codes.js";
import { SEAT, Table } from "./table/table.js";
import { alone, forgetToken, hadSeat, keepSeat, keepToken, keptToken } from "./identity.js";
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
    this.view = null;
    this.bar = lineBar(this);
    this.place = el("div", { class: "place" });
  }

  start() {
    this.root.replaceChildren(this.bar.element, this.place);
    this.session.on("state", (state) => this.#lineChanged(state));
    addEventListener("hashchange", () => this.#route());
    addEventListener("online", () => this.session.hurry());
    for (const kind of SHOWN_AGAIN) document.addEventListener(kind, () => this.#wake());
    this.#enter();
  }

  // --- who is here ---

  #enter() {
    const token = keptToken();
    if (token !== null) this.session.start({ token });
    else this.#show(welcomeView((name) => this.#comeIn(name)));
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

  /** Begin as somebody new: the token is not valid here. */
  beginAnew(notice = "") {
    if (this.session.identity?.token) forgetToken(this.session.identity.token);
    for (const table of this.tables.values()) table.close();
    this.tables.clear();
    this.#show(welcomeView((name) => this.#comeIn(name), notice));
  }

  // --- the line ---

  #lineChanged(state) {
    if (state.kind === "open") this.#welcomed(this.session.welcome);
    if (state.kind === "closed" && state.refusal?.code === NAME_REFUSED) this.beginAnew(refusalText(state.refusal));
    if (state.kind === "closed" && state.refusal?.code === TOKEN_REFUSED) {
      this.beginAnew("This house does not know you any more. Come in as a new guest.");
    }
    this.bar.update(this.session.state);
  }

  #welcomed(welcome) {
    const isFirst = this.view === null || this.view.isWelcome;
    this.money = new Money(welcome.exponent, welcome.currency);
    this.wallet = welcome.wallet;
    this.name = welcome.name;
    this.patron = welcome.patron;
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
    if (this.session.welcome === null) return;
    const found = /^#\/table\/([a-z0-9][a-z0-9-]{0,63})$/.exec(location.hash);
    const id = found?.[1] ?? null;
    for (const [other, table] of this.tables) {
      if (other !== id && table.seat.kind !== SEAT.MINE) this.#closeTable(other);
    }
    this.#show(id === null ? new LobbyView(this) : new TableView(this, this.follow(id)));
  }

  /** The table of that id, followed from now on. */
  follow(id) {
    if (!this.tables.has(id)) {
      const table = new Table(this.session, id, { takesSeat: hadSeat(id) });
      table.on("wallet", (wallet) => {
        this.wallet = wallet;
        this.view?.update?.();
      });
      table.on("change", () => keepSeat(id, table.seat.kind === SEAT.MINE));
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
