// Which board is shown large: the one where something happens. It stays for a
// while, so that one can look.

import { outcome, Position } from "../chess";

export type Happening = "mate" | "end" | "check" | "watched" | "capture" | "move";

const worth: Record<Happening, number> = { mate: 60, end: 25, check: 12, watched: 8, capture: 3, move: 1 };
const many = 3; // watchers of one board
const halfLife = 3_000; // ms after which what happened is worth half as much
const stays = 4_000; // ms for which a board is shown at least
const endStays = 7_000; // ms for which the end of a game is shown

export interface Scene {
  id: string;
  what: Happening;
  at: number; // ms
  ply: number;
  watchers?: number; // of a board that many watch
}

const men = (fen: string) => fen.split(" ")[0].replace(/[^a-z]/gi, "").length;

/** happeningOf is what a change of a board to a position is. */
export function happeningOf(before: string | undefined, fen: string): Happening {
  try {
    const p = Position.parse(fen);
    if (p.inCheck) return outcome(p) === "checkmate" ? "mate" : "check";
  } catch {
    return "move";
  }
  return before !== undefined && men(fen) < men(before) ? "capture" : "move";
}

/** value is what a scene is worth now; a long game is worth a little more. */
const value = (s: Scene, now: number) => (worth[s.what] + Math.min(1, s.ply / 100)) * 0.5 ** ((now - s.at) / halfLife);

/** Spotlight chooses the scene to show. */
export class Spotlight {
  shown: Scene | null = null;
  private since = 0;
  private scenes = new Map<string, Scene>();

  /** happens adds what has happened, and reports whether another scene, or a new one of the same board, is shown. */
  happens(s: Scene): boolean {
    this.scenes.set(s.id, s);
    if (this.scenes.size > 200) for (const [id, old] of this.scenes) if (s.at - old.at > 5 * halfLife) this.scenes.delete(id);
    if (this.shown?.id !== s.id) return this.look(s.at);
    if (worth[s.what] >= worth[this.shown.what] || s.at - this.shown.at > stays) this.since = s.at; // it goes on here
    this.shown = s;
    return true;
  }

  /** watched adds a board that many watch, unless more has just happened there; it reports what happens reports. */
  watched(s: { id: string; at: number; ply: number; watchers: number }): boolean {
    const scene: Scene = { ...s, what: "watched" };
    const before = this.scenes.get(s.id);
    if (s.watchers < many || (before && before.what !== "watched" && value(before, s.at) > value(scene, s.at))) return false;
    return this.happens(scene);
  }

  /** look chooses again, and reports whether another board is shown. */
  look(now: number): boolean {
    const ended = this.shown?.what === "mate" || this.shown?.what === "end";
    const held = this.shown && now - this.since < (ended ? endStays : stays);
    if (ended && !held) this.scenes.delete(this.shown!.id); // it was seen
    let best: Scene | null = null;
    for (const s of this.scenes.values()) if (!best || value(s, now) > value(best, now)) best = s;
    if (!best || best.id === this.shown?.id) return false;
    if (held && (best.what !== "mate" || this.shown!.what === "mate")) return false;
    if (this.shown && !held && !ended && value(best, now) < 2 * value(this.shown, now)) return false;
    this.shown = best;
    this.since = now;
    return true;
  }
}
