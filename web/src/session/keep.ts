// What a browser keeps for this server: the session's token, a move that is not
// answered yet, the identity, settings. One place, so that the keys are a list.

export interface Pending {
  token: string;
  board: string;
  uci: string;
}

/** Shelf is what of localStorage is used. */
export interface Shelf {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

export const keys = {
  token: "wamble.token",
  pending: "wamble.pending",
  tab: "wamble.tab",
  entropy: "wamble.identity",
  loggedIn: "wamble.loggedin",
  settings: "wamble.settings",
  history: "wamble.history",
} as const;

/** Keep reads and writes values; a browser that forbids it forgets, and works. */
export class Keep {
  constructor(private shelf: Shelf) {}

  get(key: string): string | null {
    try {
      return this.shelf.getItem(key);
    } catch {
      return null;
    }
  }

  set(key: string, value: string | null): void {
    try {
      if (value === null) this.shelf.removeItem(key);
      else this.shelf.setItem(key, value);
    } catch {
      // full or forbidden: nothing is remembered
    }
  }

  read<T>(key: string): T | null {
    const text = this.get(key);
    try {
      return text === null ? null : (JSON.parse(text) as T);
    } catch {
      return null;
    }
  }

  write(key: string, value: unknown): void {
    this.set(key, value === null ? null : JSON.stringify(value));
  }
}
