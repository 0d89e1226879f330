/**
 * Who this browser is to the server: a token, kept for all its tabs. What a tab holds is what the server gave it; no tab
 * takes another one's away.
 */

const KEY = "punto.token";
const SEAT_KEY = "punto.seat.";
const LOCK = "punto.first-hello";

/** A guest's token lives as long as the browser; one that a site has signed only as long as the tab. */
function placeOf(token) {
  return token.startsWith("guest.") ? localStorage : sessionStorage;
}

/** The token of this browser, or null; where nothing may be kept there is none. */
export function keptToken() {
  try {
    return sessionStorage.getItem(KEY) ?? localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** Take a token out of the address (`#token=...`, as a site links to here), and out of sight; null where none is. */
export function takeToken() {
  const found = /^#token=([\w.-]{1,4096})$/.exec(location.hash);
  if (found === null) return null;
  history.replaceState(null, "", "#/");
  return found[1];
}

/** Keep a token. */
export function keepToken(token) {
  try {
    placeOf(token).setItem(KEY, token);
  } catch {
    return; // the tab goes on with it, and the next visit begins anew
  }
}

/** Forget the token, if it is still this one. */
export function forgetToken(token) {
  try {
    const place = placeOf(token);
    if (place.getItem(KEY) === token) place.removeItem(KEY);
  } catch {
    return;
  }
}

/** Say a first hello in one tab after the other, so that the second finds the token of the first. */
export function alone(run) {
  return navigator.locks === undefined ? run() : navigator.locks.request(LOCK, run);
}

/** Remember that this tab sits at a table, for when it is loaded again. */
export function keepSeat(table, isSeated) {
  try {
    if (isSeated) sessionStorage.setItem(SEAT_KEY + table, "1");
    else sessionStorage.removeItem(SEAT_KEY + table);
  } catch {
    return;
  }
}

/** Whether this tab sat there when it was loaded last. */
export function hadSeat(table) {
  try {
    return sessionStorage.getItem(SEAT_KEY + table) !== null;
  } catch {
    return false;
  }
}
