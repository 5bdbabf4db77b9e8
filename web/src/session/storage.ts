// What a browser stores for this server: the session's token, a move that is not
// answered yet, the identity, settings. All keys are in one list.

export interface Pending {
  token: string;
  board: string;
  uci: string;
  san: string;
  piece: string; // FEN letter of what moved
  ply: number; // of the move
}

/** Area is the part of localStorage that is used. */
export interface Area {
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

/** LocalData reads and writes values. A browser that forbids it works, and forgets. */
export class LocalData {
  constructor(private area: Area) {}

  get(key: string): string | null {
    try {
      return this.area.getItem(key);
    } catch {
      return null;
    }
  }

  set(key: string, value: string | null): void {
    try {
      if (value === null) this.area.removeItem(key);
      else this.area.setItem(key, value);
    } catch {
      // full or forbidden: nothing is stored
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
