// A game as a list of positions: what the server has stored, and the moves that
// arrive while we look.

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

export interface Watched {
  game: Game | null;
  line: Line | null;
  error: "missing" | "failed" | null;
}

const again = 1500; // ms between two questions about a board that runs ahead of us

/** useGame asks for a game, and follows it to the FEN that is live. */
export function useGame(board: string, live: { fen: string; chess960: boolean } | null): Watched {
  const [state, set] = useState<Watched>({ game: null, line: null, error: null });
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);

  const load = async () => {
    try {
      const game = await api.game(board);
      set({ game, line: replay(start(game.chess960), game.moves), error: null });
    } catch (e) {
      set((s) => (s.line ? s : { ...s, error: e instanceof Missing ? "missing" : "failed" }));
    }
  };

  useEffect(() => {
    set({ game: null, line: null, error: null });
    void load();
    return () => clearTimeout(timer.current);
  }, [board]);

  useEffect(() => {
    const { line } = state;
    if (!live) return;
    const placement = live.fen.split(" ")[0];
    const last = line?.positions[line.positions.length - 1];
    if (!line || !last || last.placement === placement) return;
    const move = reached(last, placement);
    if (move) {
      const m = { ply: line.moves.length + 1, uci: uci(move, live.chess960), san: san(last, move), squares: [move.from, move.to] as [number, number] };
      set({ ...state, line: { positions: [...line.positions, last.play(move)], moves: [...line.moves, m] } });
    } else {
      clearTimeout(timer.current); // we have missed some, or the store is behind
      timer.current = setTimeout(load, again);
    }
  }, [live?.fen, state.line]);

  return state;
}
