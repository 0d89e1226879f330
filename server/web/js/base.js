/** What every part uses that tells others: named listeners. */

export class Emitter {
  constructor() {
    this.listeners = new Map();
  }

  /** Call `listener` for each `kind`; returns what ends that. Ending one touches no other. */
  on(kind, listener) {
    if (!this.listeners.has(kind)) this.listeners.set(kind, new Set());
    const entry = { listener };
    this.listeners.get(kind).add(entry);
    return () => this.listeners.get(kind).delete(entry);
  }

  emit(kind, value) {
    for (const entry of [...(this.listeners.get(kind) ?? [])]) entry.listener(value);
  }

  /** How many listeners there are, over all kinds. */
  get count() {
    return [...this.listeners.values()].reduce((sum, set) => sum + set.size, 0);
  }
}
