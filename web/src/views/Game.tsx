// The page of a board, running or finished: it can be shared.

import { useEffect, useState } from "preact/hooks";
import { go, tell } from "../app";
import { BoardView } from "../board/BoardView";
import { useStore } from "../session/store";
import { settings } from "../settings";
import { past } from "../standing";
import { t } from "../texts";
import { Icon, IconButton } from "../ui/Icon";
import { Movers } from "../ui/Name";
import { copy } from "../ui/copy";
import { MoveList, noteOf } from "./MoveList";
import { Nothing } from "./Nothing";
import { resultOf } from "./Result";
import { useGame } from "./useGame";

export function GamePage({ board }: { board: string }) {
  const { flipped } = useStore(settings);
  const { steps } = useStore(past);
  const { game, line, error } = useGame(board, null);
  const [at, setAt] = useState<number | null>(null);

  useEffect(() => {
    document.title = `${t.game.title(board)} · ${t.name}`;
    setAt(null);
  }, [board]);

  if (error) return error === "missing" ? <Nothing text={t.game.missing} /> : <p class="card">{t.game.failed}</p>;
  if (!game || !line) return <p class="card faint">{t.watch.loading}</p>;
  const last = line.moves.length;
  const ply = at ?? last;
  const over = game.result;
  return (
    <div class="play focus">
      <section class="table" aria-label={t.game.title(board)}>
        <header class="board-head">
          <h1>{t.game.title(board)}</h1>
          {game.chess960 !== undefined && <span class="tag">{t.play.chess960}</span>}
          <span class="turn">{over ? resultOf(over) : t.game.running}</span>
          <span class="tools">
            <IconButton name="flip" label={t.play.flip} onClick={() => settings.patch({ flipped: !flipped })} />
          </span>
        </header>
        <div class="stage" data-board={board}>
          <div class="slide">
            <BoardView
              position={line.positions[ply]}
              bottom={flipped ? "b" : "w"}
              mover={null}
              lastMove={line.moves[ply - 1]?.squares ?? null}
              label={t.game.title(board)}
            />
          </div>
        </div>
      </section>
      <aside class="panel">
        <div class="card facts">
          <p>
            <Movers moves={game.moves} />
          </p>
          <div class="buttons">
            <a class="main" href={`/api/boards/${board}/pgn`} download={`wamble-${board}.pgn`}>
              <Icon name="download" /> {t.game.pgn}
            </a>
            <button type="button" onClick={async () => tell((await copy(location.href)) ? t.you.copied : location.href)}>
              {t.game.link}
            </button>
            {!over && (
              <button type="button" onClick={() => go(`/watch/${board}`)}>
                {t.game.watch}
              </button>
            )}
          </div>
          {steps.some((s) => s.board === board) && (
            <p class="faint">
              {t.game.yours}: {steps.filter((s) => s.board === board).map((s) => s.san).reverse().join(", ")}
            </p>
          )}
        </div>
        <MoveList line={line} travel={{ at: ply, last, to: setAt }} note={(n) => noteOf(line.moves[n - 1])} />
      </aside>
    </div>
  );
}
