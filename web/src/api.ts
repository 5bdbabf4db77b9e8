// The read routes of the server over HTTP (docs/http.md).

import { session } from "./app";
import { read } from "./http";
import type { PastPage } from "./wall/past";
import { NO_TOKEN } from "./wire";

export interface Live {
  players: number;
  watchers: number;
  moves_per_second?: number; // not before there is something to measure
  boards: Record<string, number>;
  watched?: { board: number; watchers: number }[]; // those that most watch first
}

/** Who is a player as all see them: one with a handle, or a guest with the number of their session. */
export interface Who {
  session?: number;
  handle?: string;
  bot?: boolean;
}

export interface GameMove extends Who {
  ply: number;
  uci: string;
  at?: string;
}

export interface Game {
  board: number;
  status: string;
  version: number;
  fen: string;
  chess960?: number;
  created?: string;
  holder?: Who; // who thinks about the next move
  moves: GameMove[];
  result?: { winner: string; reason: string; plies: number };
}

interface RankRow {
  rank: number;
  session: number;
  handle?: string;
  score: number;
  prediction_score: number;
  rating: number;
  games: number;
}

interface Ranking {
  by: string;
  total: number;
  rows: RankRow[];
  self?: RankRow;
}

interface Scores {
  scores: { board: number; points: number; rating: number; at: string }[];
}

/** KeptBoard is a board that the player has moved on, as the server keeps it. */
export interface KeptBoard {
  board: number;
  fen?: string;
  plies: number;
  moves: { ply: number; uci: string; san: string; at: string; reply?: string; answered?: string }[]; // the player's
  result?: { winner: string; finished: string };
  points?: number;
}

/** Kept is the trail of a player. */
export interface Kept {
  seen?: string; // when another session of theirs was last seen
  boards: KeptBoard[];
}

/** Ended is a game of the feed. */
export interface Ended {
  board: number;
  winner: string;
  reason: string;
  plies: number;
  finished: string;
}

/** Missing is thrown for what does not exist. */
export class Missing extends Error {}

const get = async <T>(path: string): Promise<T> => JSON.parse(await text(path)) as T;

async function text(path: string): Promise<string> {
  const { token } = session.status.value;
  const headers: HeadersInit = token === NO_TOKEN ? {} : { Authorization: `Bearer ${token}` };
  const answer = await read(path, { headers });
  if (answer.status === 404) throw new Missing(path);
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.text();
}

const pauses = [300, 1_000, 1_000, 1_000, 1_000, 1_000, ...Array<number>(11).fill(5_000)]; // ms: mostly the first will do; then as long as the server gives the same answer about a game that is not over; up to a minute if the database is slow

/** gameSince asks for a game until it is stored as far as a version that is seen live, and returns null if that takes too long. */
export async function gameSince(board: string, version: number): Promise<Game | null> {
  for (const pause of pauses) {
    await new Promise((done) => setTimeout(done, pause));
    const game = await api.game(board).catch(() => null);
    if (game?.result || (game && game.version >= version && game.status !== "ARCHIVED")) return game;
  }
  return null;
}

export const api = {
  /** began is since when there are boards. */
  began: () => get<{ began: string; now: string }>("/api/at"),
  /** past is the boards at a time, or the next of them. */
  past: (at: string, from: string) => get<PastPage>(`/api/at/${at}${from && `?from=${from}`}`),
  live: () => get<Live>("/api/live"),
  game: (board: string) => get<Game>(`/api/boards/${board}`),
  /** trail is that of the player; nobody has none. */
  trail: async (): Promise<Kept> => ({ boards: [], ...(session.status.value.token === NO_TOKEN ? {} : await get<Partial<Kept>>("/api/trail")) }),
  /** finished returns the last games that have ended, the oldest first. */
  finished: async (last: number) =>
    (await text(`/api/finished?last=${last}`))
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Ended),
  ranking: (by: string, offset: number, limit: number) => get<Ranking>(`/api/leaderboard?by=${by}&offset=${offset}&limit=${limit}`),
  scores: (handle: string) => get<Scores>(`/api/players/${handle}/scores?limit=100`),
};
