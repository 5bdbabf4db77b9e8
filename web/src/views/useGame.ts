// A game as a list of positions: what the server has stored, and the moves that
// arrive live.

import { useEffect, useRef, useState } from "preact/hooks";
import { api, type Game, type GameMove, Missing } from "../api";
import { fromUCI, Position, reached, san, start, uci } from "../chess";

export interface Line {
  positions: Position[]; // one more than moves
  moves: (GameMove & { san: string; squares: [number, number] })[];
}

/** replay walks through the moves of a game; one that is not legal ends the line. */
export function replay(from: Position, moves: readonly GameMove[]): Line {
  const line: Line = { positions: [from], moves: [] };
  for (const m of moves) {
    const p = line.positions[line.positions.length - 1];
    const move = fromUCI(p, m.uci);
    if (!move) break;
    line.moves.push({ ...m, san: san(p, move), squares: [move.from, move.to] });
    line.positions.push(p.play(move));
  }
  return line;
}

interface Watched {
  game: Game | null;
  line: Line | null;
  error: "missing" | "failed" | null;
}

const retryPause = 1500; // ms between two requests for a game that is behind its live board
const askEvery = 2_000; // ms between two requests for a game whose holder is shown
const remembered = 100; // positions that were seen live and may not be stored yet

/** extend appends the moves that lead from the end of a line through positions seen after it. */
function extend(line: Line, placements: readonly string[], chess960: boolean): Line {
  let last = line.positions[line.positions.length - 1];
  const ahead = placements.slice(placements.lastIndexOf(last.placement) + 1);
  const longer: Line = { positions: [...line.positions], moves: [...line.moves] };
  for (const placement of ahead) {
    const move = reached(last, placement);
    if (!move) break;
    longer.moves.push({ ply: longer.moves.length + 1, uci: uci(move, chess960), san: san(last, move), squares: [move.from, move.to] });
    longer.positions.push((last = last.play(move)));
  }
  return longer.moves.length > line.moves.length ? longer : line;
}

/** useGame asks for a game, and follows it to the FEN that is live; when it is over, until the result is known. */
export function useGame(board: string, live: { fen: string; chess960: boolean } | null, over = false, again = 0): Watched {
  const [state, set] = useState<Watched>({ game: null, line: null, error: null });
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const seen = useRef<string[]>([]);
  const chess960 = live?.chess960 ?? false;

  const load = async () => {
    timer.current = undefined;
    try {
      const game = await api.game(board);
      set((s) => {
        const stored = replay(start(game.chess960), game.moves);
        const line = extend(stored, seen.current, chess960);
        return { game, line: s.line && s.line.moves.length > line.moves.length ? s.line : line, error: null };
      });
    } catch (e) {
      set((s) => (s.line ? s : { ...s, error: e instanceof Missing ? "missing" : "failed" }));
    }
  };

  useEffect(() => {
    seen.current = [];
    set({ game: null, line: null, error: null });
    void load();
    return () => clearTimeout(timer.current);
  }, [board]);

  useEffect(() => {
    if (!live) return;
    const placement = live.fen.split(" ")[0];
    if (seen.current.at(-1) !== placement) seen.current = [...seen.current, placement].slice(-remembered);
    const { line } = state;
    const longer = line && extend(line, seen.current, chess960);
    if (longer !== line) set({ ...state, line: longer });
    const last = longer?.positions[longer.positions.length - 1];
    if (last?.placement !== placement) timer.current ??= setTimeout(load, retryPause); // moves are missing
  }, [live?.fen, state.line]);

  useEffect(() => {
    if (again > 0) void load();
  }, [again]);

  useEffect(() => {
    if (over && !state.error && (!state.game || ["ACTIVE", "RESERVED"].includes(state.game.status))) timer.current ??= setTimeout(load, retryPause);
  }, [over, state]);

  return state;
}

/** usePolledGame asks for a game again and again while the page is seen, and at once when again changes. */
export function usePolledGame(id: string | undefined, again = ""): Game | null {
  const [game, set] = useState<Game | null>(null);
  useEffect(() => {
    if (id === undefined) return;
    let gone = false;
    const ask = () => document.visibilityState === "visible" && api.game(id).then((g) => gone || set(g), () => {});
    void ask();
    const timer = setInterval(ask, askEvery);
    return () => {
      gone = true;
      clearInterval(timer);
    };
  }, [id, again]);
  return game && String(game.board) === id ? game : null;
}
