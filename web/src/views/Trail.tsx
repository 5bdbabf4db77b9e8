// All boards that the player has moved on, with their move marked, and what became of it.

import { useEffect, useRef } from "preact/hooks";
import { api } from "../api";
import { session } from "../app";
import { useStore } from "../session/store";
import { past, type Step } from "../standing";
import { t } from "../texts";
import { kept, recall } from "../trail";
import { Link } from "../ui/Link";
import { coloursNow, paint } from "../wall/paint";
import { fateText } from "./PlayPanel";

const shown = 60; // boards
const named = 4; // moves of a board that its tile names, the last ones
const pause = 120; // ms between two requests: the routes have limits

/** squaresOf is where a move in UCI begins and ends. */
function squaresOf(move: string): [number, number] | null {
  const square = (at: number) => move.charCodeAt(at) - 97 + 8 * (move.charCodeAt(at + 1) - 49);
  return move ? [square(0), square(2)] : null;
}

/** asked is a board that is only in the trail of this browser, with the move of a ply. */
async function asked(board: string, ply: number): Promise<{ fen: string; move: string } | null> {
  await new Promise((done) => setTimeout(done, pause));
  const game = await api.game(board).catch(() => null);
  return game && { fen: game.fen, move: game.moves[ply - 1]?.uci ?? "" };
}

export function Trail() {
  const { token } = useStore(session.status);
  const { steps, won } = useStore(past);
  const list = useRef<HTMLOListElement>(null);
  const boards = [...new Set(steps.map((s) => s.board))].slice(0, shown);
  const of = (board: string): Step[] => steps.filter((s) => s.board === board);
  useEffect(() => {
    document.title = `${t.trail.title} · ${t.name}`;
  }, []);
  const server = useStore(kept);
  useEffect(() => {
    recall().catch(() => {}); // the trail of this browser stays
  }, [token]);
  useEffect(() => {
    let gone = false;
    const draw = async () => {
      for (const board of boards) {
        if (gone) return;
        const canvas = list.current?.querySelector<HTMLCanvasElement>(`[data-board="${board}"] canvas`);
        const known = server.boards.find((b) => String(b.board) === board);
        if (!canvas || canvas.dataset.fen === (known?.fen ?? canvas.dataset.fen ?? "")) continue;
        const [last] = of(board);
        const game = known?.fen ? { fen: known.fen, move: known.moves.at(-1)!.uci } : await asked(board, last.ply ?? 0);
        if (game && !gone) {
          canvas.width = canvas.height = 8 * Math.round(canvas.clientWidth * Math.min(2, devicePixelRatio) / 8);
          canvas.dataset.fen = game.fen;
          canvas.dataset.marked = game.move;
          paint(canvas, { fen: game.fen, lastMove: squaresOf(game.move) }, coloursNow());
        }
      }
    };
    void draw();
    return () => {
      gone = true;
    };
  }, [boards.join(), server]);
  return (
    <div class="trail-page">
      <header class="view-head">
        <div>
          <h1>{t.trail.title}</h1>
          <p class="faint">{t.trail.lead}</p>
        </div>
      </header>
      {boards.length === 0 && <p class="card faint">{t.play.trailEmpty}</p>}
      <ol ref={list} class="wall">
        {boards.map((board) => {
          const [last] = of(board);
          const moves = of(board).map((s) => s.san).reverse();
          return (
            <li key={board} data-board={board} data-fate={last.fate?.state ?? "waits"}>
              <Link class="tile" href={`/board/${board}`}>
                <canvas aria-hidden="true" />
                <span>{t.play.board(board)}</span>
                <span title={moves.join(" ")}>
                  <i>{[...(moves.length > named ? ["…"] : []), ...moves.slice(-named)].join(" ")}</i>
                </span>
                <span>
                  <em>{fateText(last, won[board])}</em>
                </span>
              </Link>
            </li>
          );
        })}
      </ol>
    </div>
  );
}
