// All boards that the player has moved on, with his move marked, and what became of it.

import { useEffect, useRef } from "preact/hooks";
import { api } from "../api";
import { fromUCI, start } from "../chess";
import { useStore } from "../session/store";
import { past, type Step } from "../standing";
import { t } from "../texts";
import { Link } from "../ui/Link";
import { coloursNow, paint } from "../wall/paint";
import { fateText } from "./PlayPanel";

const shown = 60; // boards
const pause = 120; // ms between two requests: the routes have limits

export function Trail() {
  const { steps, won } = useStore(past);
  const list = useRef<HTMLOListElement>(null);
  const boards = [...new Set(steps.map((s) => s.board))].slice(0, shown);
  const of = (board: string): Step[] => steps.filter((s) => s.board === board);
  useEffect(() => {
    document.title = `${t.trail.title} · ${t.name}`;
  }, []);
  useEffect(() => {
    let gone = false;
    const draw = async () => {
      for (const board of boards) {
        if (gone) return;
        const canvas = list.current?.querySelector<HTMLCanvasElement>(`[data-board="${board}"] canvas`);
        if (!canvas || canvas.dataset.fen) continue;
        const game = await api.game(board).catch(() => null);
        const ply = of(board)[0]?.ply ?? 0;
        const move = game?.moves[ply - 1];
        if (game && !gone) {
          let p = start(game.chess960);
          for (const m of game.moves.slice(0, ply - 1)) {
            const played = fromUCI(p, m.uci);
            if (played) p = p.play(played);
          }
          const mine = move && fromUCI(p, move.uci);
          canvas.width = canvas.height = 8 * Math.round(canvas.clientWidth * Math.min(2, devicePixelRatio) / 8);
          canvas.dataset.fen = game.fen;
          paint(canvas, { fen: game.fen, lastMove: mine ? [mine.from, mine.to] : null }, coloursNow());
        }
        await new Promise((done) => setTimeout(done, pause));
      }
    };
    void draw();
    return () => {
      gone = true;
    };
  }, [boards.join()]);
  return (
    <div class="you trail-page">
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
          return (
            <li key={board} data-board={board} data-fate={last.fate?.state ?? "waits"}>
              <Link class="tile" href={`/board/${board}`}>
                <canvas aria-hidden="true" />
                <span>
                  {t.play.board(board)}
                  <i>{of(board).map((s) => s.san).reverse().join(" ")}</i>
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
