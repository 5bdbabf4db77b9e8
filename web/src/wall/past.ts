// The past of the world: a minute of it as /api/at tells it, at any moment.

import { fromUCI, Position } from "../chess";

export interface PastBoard {
  board: number;
  fen: string;
  ply: number;
  last?: string;
  from?: number; // ms
  moves?: readonly { after: number; uci: string }[];
  end?: { after: number; winner: string; reason: string };
}

/** Sight is a board at a moment. */
export interface Sight {
  id: string;
  fen: string; // placement and side to move
  ply: number;
  lastMove: [number, number] | null;
  end: { winner: string; reason: string } | null;
}

const endShown = 6_000; // ms for which a game that is over stays

const square = (name: string) => name.charCodeAt(0) - 97 + 8 * (name.charCodeAt(1) - 49);
const squares = (uci: string | undefined): [number, number] | null => (uci ? [square(uci), square(uci.slice(2))] : null);

/** minuteOf is the beginning of the minute of a time, in ms. */
export const minuteOf = (at: number): number => Math.floor(at / 60_000) * 60_000;

/** addressOf is the page of a time. */
export const addressOf = (at: number): string => `/at/${new Date(Math.floor(at / 1000) * 1000).toISOString().replace(".000", "")}`;

/** PastPage is one answer of /api/at. */
export interface PastPage {
  boards: readonly PastBoard[];
  next?: string;
}

/** Minute is a minute of the past. */
export class Minute {
  private sights = new Map<number, Sight[]>(); // of each board, after 0, 1, 2 … moves

  constructor(
    readonly at: number, // ms
    readonly boards: readonly PastBoard[],
    readonly pages = 1, // that were asked for
    readonly next = "", // of the page that follows; "": these are all boards
  ) {}

  /** load asks for pages of a minute until it has so many, or all. It goes on where some are known. */
  static async load(at: number, pages: number, ask: (at: string, from: string) => Promise<PastPage>, known?: Minute): Promise<Minute> {
    const boards = [...(known?.boards ?? [])];
    let asked = known?.pages ?? 0;
    let next = known?.next ?? "";
    do {
      const page = await ask(new Date(at).toISOString(), next);
      boards.push(...page.boards);
      next = page.next ?? "";
      asked++;
    } while (next && asked < pages);
    return new Minute(at, boards, asked, next);
  }

  /** look returns the boards at a time of the minute, by their number. */
  look(time: number): Sight[] {
    const after = time - this.at;
    const seen: Sight[] = [];
    for (const b of this.boards) {
      if ((b.from ?? 0) > after || (b.end && after > b.end.after + endShown)) continue;
      const made = (b.moves ?? []).filter((m) => m.after <= after).length;
      const sight = this.sight(b, made);
      seen.push(b.end && after >= b.end.after ? { ...sight, end: b.end } : sight);
    }
    return seen.sort((a, b) => Number(a.id) - Number(b.id));
  }

  /** sight is a board after some moves of the minute. */
  private sight(b: PastBoard, made: number): Sight {
    let known = this.sights.get(b.board);
    if (!known) {
      known = [{ id: String(b.board), fen: b.fen, ply: b.ply, lastMove: squares(b.last), end: null }];
      let p = Position.parse(b.fen);
      for (const { uci } of b.moves ?? []) {
        const m = fromUCI(p, uci);
        if (!m) break; // a move that we do not understand: the board stays as it is
        p = p.play(m);
        known.push({ id: known[0].id, fen: `${p.placement} ${p.turn}`, ply: b.ply + known.length, lastMove: squares(uci), end: null });
      }
      this.sights.set(b.board, known);
    }
    return known[Math.min(made, known.length - 1)];
  }
}
