// How the player stands: score, rating, rank, and the trail of their moves.

import { api } from "./api";
import { session } from "./app";
import { keys } from "./session/storage";
import { Store } from "./session/store";

interface Standing {
  score: number;
  rating: number;
  rank: number;
  games: number;
  games960: number;
  predictions: number;
  handle: string;
}

/** rated reports whether there is a rating: that of a guest is sent as 0. */
export const rated = (rating: number | undefined): rating is number => rating !== undefined && Math.round(rating) > 0;

export const standing = new Store<Standing | null>(null);

/** Fate is what became of a move. */
export interface Fate {
  state: "waits" | "answered" | "won" | "lost" | "draw";
  reply?: string; // SAN of the answer
  moves?: number; // that were made since
}

/** Step is one move of the player's trail. */
export interface Step {
  board: string;
  san: string;
  piece: string;
  at: number;
  ply?: number; // missing in what an older page has stored
  fate?: Fate;
}

/** payouts is what boards have paid since the page was opened, as text. */
export const payouts = new Store<Readonly<Record<string, string>>>({});

export interface History {
  steps: Step[]; // newest first
  days: Record<string, number>; // moves by day
  points: { at: number; score: number; rating: number }[];
  predicted: number;
  right: number;
  streak: number;
  won: Record<string, string>; // points by board
  seen: number; // when the player was last here
}

export const maxSteps = 200;
const nothing: History = { steps: [], days: {}, points: [], predicted: 0, right: 0, streak: 0, won: {}, seen: 0 };
export const past = new Store<History>({ ...nothing, ...session.stored.read<History>(keys.history) });
past.subscribe((h) => session.stored.write(keys.history, h));

export function forgetPast(): void {
  past.set(nothing);
  standing.set(null);
  owed.until = 0;
}

/** remember adds a move to the trail. */
export function remember(step: Step): void {
  const day = new Date(step.at).toISOString().slice(0, 10);
  const days = { ...past.value.days, [day]: (past.value.days[day] ?? 0) + 1 };
  for (const old of Object.keys(days).sort().slice(0, -30)) delete days[old];
  const steps = [step, ...past.value.steps].slice(0, maxSteps);
  const mate = step.san.endsWith("#"); // which nobody answers
  const won = (s: Step) => mate && s.board === step.board && s.ply !== undefined && step.ply !== undefined && (step.ply - s.ply) % 2 === 0;
  past.patch({ steps: steps.map((s) => (won(s) ? { ...s, fate: { ...s.fate, state: "won" } } : s)), days });
}

/** paid notes what a board has paid: the first number of the server's words. */
export function paid(board: string, text: string): void {
  const points = /[\d.]+/.exec(text)?.[0];
  if (!points) return;
  payouts.patch({ [board]: points });
  const won = Object.entries({ ...past.value.won, [board]: points }).slice(-maxSteps);
  past.patch({ won: Object.fromEntries(won) });
  if (standing.value) {
    standing.set({ ...standing.value, score: standing.value.score + Number(points) });
    owed = { score: standing.value.score, until: Date.now() + owedWait };
  }
}

// owed is the score with what was paid, which the store may not have yet.
let owed = { score: 0, until: 0 };
const owedWait = 10_000;

let timer: ReturnType<typeof setTimeout> | undefined;

/** askStanding refreshes the numbers, at most every few seconds. */
export function askStanding(ms = 1500): void {
  timer ??= setTimeout(() => {
    timer = undefined;
    void load();
  }, ms);
}

async function load(): Promise<void> {
  if (!session.may("readStats")) return;
  try {
    const [stats, ranking] = await Promise.all([
      session.caller.ask({ name: "GET_PLAYER_STATS", body: {} }),
      session.may("readLeaderboard") ? api.ranking("score", 0, 1).catch(() => null) : null,
    ]);
    const { games, games_960 } = stats.message.body;
    const waits = Date.now() < owed.until && stats.message.body.score < owed.score - 1e-4;
    const score = waits ? owed.score : stats.message.body.score;
    const before = standing.value;
    const now: Standing = {
      score,
      games,
      games960: games_960,
      handle: stats.ext.text("stats.target_handle") ?? "",
      rating: ranking?.self?.rating ?? before?.rating ?? 0,
      rank: ranking?.self?.rank ?? before?.rank ?? 0,
      predictions: ranking?.self?.prediction_score ?? before?.predictions ?? 0,
    };
    standing.set(now);
    if (waits) askStanding();
    const last = past.value.points.at(-1);
    if (!last || last.score !== now.score || last.rating !== now.rating) {
      past.patch({ points: [...past.value.points, { at: Date.now(), score: now.score, rating: now.rating }].slice(-200) });
    }
  } catch {
    // refused or away: the numbers stay as they are
  }
}
