/** Bytes as the constructions of PROTOCOL.md, section 15 need them. The hashing is the browser's own (Web Crypto). */

/** Whether this browser lets the page hash: it does not on pages that came over an open line from elsewhere. */
export const CAN_HASH = globalThis.crypto?.subtle !== undefined;

/** Join lists of bytes. */
export function join(...parts) {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** A whole number in so many bytes, the greatest first. */
export function number(value, bytes) {
  const packed = new Uint8Array(bytes);
  let left = BigInt(value);
  for (let at = bytes - 1; at >= 0; at -= 1) {
    packed[at] = Number(left & 255n);
    left >>= 8n;
  }
  return packed;
}

/** A text in UTF-8. */
export function text(value) {
  return new TextEncoder().encode(value);
}

/** Bytes of a text of hex digits; null where it is none. */
export function fromHex(value) {
  if (!/^(?:[0-9a-f]{2})*$/.test(value)) return null;
  return Uint8Array.from({ length: value.length / 2 }, (_, at) => parseInt(value.slice(2 * at, 2 * at + 2), 16));
}

/** Bytes as hex digits. */
export function toHex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** SHA-256. */
export async function sha256(bytes) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** A function that makes HMAC-SHA256 by this key. */
export async function hmacBy(key) {
  const made = await crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  return async (message) => new Uint8Array(await crypto.subtle.sign("HMAC", made, message));
}
