// A board in the page of somebody else: it shows the game, and takes no board.

import { useEffect, useState } from "preact/hooks";
import { BoardView } from "../board/BoardView";
import { t } from "../texts";
import { resultOf } from "./Result";
import { useGame } from "./useGame";

const every = 5_000; // ms

export function Embed({ board }: { board: string }) {
  const [n, set] = useState(0);
  const { game, line, error } = useGame(board, null, false, n);
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && set((n) => n + 1), every);
    return () => clearInterval(timer);
  }, []);
  if (error) return <p class="card">{error === "missing" ? t.game.missing : t.game.failed}</p>;
  if (!game || !line) return <p class="faint">{t.watch.loading}</p>;
  const last = line.moves.length;
  const position = line.positions[last];
  return (
    <main class="embed">
      <BoardView position={position} bottom="w" mover={null} lastMove={line.moves[last - 1]?.squares ?? null} label={t.play.board(board)} />
      <h1>
        <a href={`/board/${board}`} target="_blank" rel="noopener">
          {t.name} · {t.play.board(board)}
        </a>{" "}
        {game.result ? resultOf(game.result) : t.watch.toMove(position.turn === "w" ? t.play.white : t.play.black)}
      </h1>
    </main>
  );
}
