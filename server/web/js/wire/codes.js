/** What the numbers of PROTOCOL.md mean for a client: go by the number, and by its range where it is not known. */

export const PROTOCOL_VERSION = 1;
export const SUBPROTOCOL = "punto.v1.json";

export const SEAT_TAKEN_OVER = 2004;
export const NOT_SEATED = 2003;
export const NOT_WATCHING = 2002;
export const UNKNOWN_TABLE = 2001;
export const TABLE_FULL = 2005;
export const INSUFFICIENT_WALLET = 2006;
export const TABLE_CLOSED = 2008;
export const EXCLUDED = 2009;
export const ROUND_OVER = 2101;
export const BETTING_CLOSED = 2102;
export const TOKEN_REFUSED = 3001;
export const NAME_REFUSED = 3002;
export const TOKEN_EXPIRED = 3003;
export const TOKEN_REVOKED = 3004;
export const STORE_AWAY = 4001;

const NEVER_AGAIN = new Set([1002, 1003, 1007, 1008, 1009, 1010]);

/** Whether to come back after a close with this code. */
export function mayReconnect(closeCode) {
  if (closeCode >= 4100 && closeCode <= 4299) return false;
  return !NEVER_AGAIN.has(closeCode);
}

/** An `error` reply: what the server refused, with all that it said. */
export class Refused extends Error {
  constructor(reply) {
    super(reply.message);
    this.name = "Refused";
    this.reply = reply;
    this.code = reply.code;
    this.retry = reply.retry === true;
  }
}

/** There is no answer: the client has ended, or too much time has passed. It may have been carried out. */
export class NoAnswer extends Error {
  constructor(why) {
    super(why);
    this.name = "NoAnswer";
  }
}
