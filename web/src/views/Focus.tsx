// One live board: its moves, the way back through them, and predictions.

import { useEffect, useMemo, useState } from "preact/hooks";
import { session, tell, watcher } from "../app";
import type { Arrow } from "../board/Arrows";
import { BoardView } from "../board/BoardView";
import { Piece } from "../board/PieceDefs";
import { type Color, fromUCI, type Move, Position, san, uci } from "../chess";
import { predict, type PredictionNode } from "../session/predictions";
import { useStore } from "../session/store";
import { settings } from "../settings";
import { t } from "../texts";
import { BotMark, Icon, IconButton } from "../ui/Icon";
import { Link } from "../ui/Link";
import { Thinks } from "../ui/Name";
import { PredictionStatus, SubmitStatus } from "../wire";
import { because } from "../words";
import { MoveList, noteOf } from "./MoveList";
import { Nothing } from "./Nothing";
import { Predictions, usePredictions } from "./Predictions";
import { ResultCard, resultOf, resultPlace } from "./Result";
import { useGame, usePolledGame } from "./useGame";

const wakeEvery = 3_000; // ms between two looks whether a board that sleeps is played on again

/** useWatchedBoard follows one live board. */
function useWatchedBoard(board: string) {
  useEffect(() => {
    watcher.watch({ kind: "focus", board: BigInt(board) });
    return () => watcher.stop();
  }, [board]);
  useStore(watcher.tick);
  return watcher.boards.get(board) ?? null;
}

export function Focus({ board }: { board: string }) {
  const state = useStore(watcher.state);
  const { flipped } = useStore(settings);
  const live = useWatchedBoard(board);
  const ended = state === "over" || state === "refused"; // it is over, or asleep
  const { line, game, error } = useGame(board, live, ended);
  const held = usePolledGame(ended ? undefined : board);
  const [at, setAt] = useState<number | null>(null); // null is live
  const [parent, setParent] = useState<{ node: PredictionNode; position: Position; name: string } | null>(null);
  const chess960 = live?.chess960 ?? game?.chess960 !== undefined;

  useEffect(() => {
    document.title = `${t.play.board(board)} · ${t.name}`;
    setAt(null);
  }, [board]);
  useEffect(() => setParent(null), [live?.fen, board]);
  const result = game?.result;
  const asleep = ended && game !== null && !result;
  useEffect(() => {
    if (!asleep) return;
    const timer = setInterval(() => document.visibilityState === "visible" && watcher.retry(), wakeEvery);
    return () => clearInterval(timer);
  }, [asleep]);

  const now = useMemo(() => (live ? Position.parse(live.fen) : null), [live?.fen]);
  const last = line?.moves.length ?? 0;
  const past = at !== null && line ? line.positions[Math.min(at, last)] : null;
  const position = past ?? parent?.position ?? now ?? line?.positions[last] ?? null;
  const squares = past ? (line!.moves[at! - 1]?.squares ?? null) : (live?.lastMove ?? line?.moves[last - 1]?.squares ?? null);
  const predictions = usePredictions(board, now, line);

  if (error === "missing" && !live) return <Nothing text={t.game.missing} />;
  if (state === "refused" && error) {
    return (
      <p class="card">
        {`${t.watch.refused} ${because(watcher.refusal)}.`} <Link href="/watch">{t.watch.back}</Link>
      </p>
    );
  }
  if (!position) return <p class="card faint">{t.watch.loading}</p>;

  const onMove = async (m: Move) => {
    const text = uci(m, chess960);
    const name = san(position, m);
    try {
      const status = await predict(session, BigInt(board), text, parent?.node.id ?? 0);
      if (status === SubmitStatus.created) {
        tell(t.predict.made(name), "good");
        if (!parent) predictions.guess(text, name);
      } else tell(t.predict.refused[status] || t.predict.failed, "bad");
    } catch (e) {
      tell(`${t.predict.failed} ${(e as Error).message}`, "bad");
    }
    setParent(null);
    predictions.refresh();
  };

  const most = Math.max(1, ...predictions.tree.map((x) => x.count));
  const arrows: Arrow[] =
    past || parent || !now
      ? []
      : predictions.tree.flatMap((x) => {
          const m = x.status === PredictionStatus.pending ? fromUCI(now, x.uci) : undefined;
          return m ? [{ from: m.from, to: m.to, weight: x.count / most, mine: x.mine }] : [];
        });
  const bottom: Color = flipped ? "b" : "w";
  const side = position.turn === "w" ? t.play.white : t.play.black;
  return (
    <div class="play focus">
      <section class="table" aria-label={t.play.board(board)}>
        <header class="board-head">
          <Link class="icon" href="/watch" aria-label={t.watch.back} title={t.watch.back}>
            <Icon name="back" />
          </Link>
          <h1>{t.play.board(board)}</h1>
          {chess960 && <span class="tag">{t.play.chess960}</span>}
          <span class="turn">
            <Piece piece={(result && !past ? result.winner !== "black" : position.turn === "w") ? "K" : "k"} />
            {result && !past ? resultOf(result) : parent ? t.predict.pendingMove(parent.name) : t.watch.toMove(side)}
          </span>
          {live?.bot && !past && !parent && <BotMark />}
          <span class="tools">
            {past ? (
              <button type="button" onClick={() => setAt(null)}>
                {t.watch.last}
              </button>
            ) : (
              <span class={ended ? "on-air off" : "on-air"}>
                <i class="pulse" aria-hidden="true" />
                {result ? t.watch.over : ended ? t.watch.asleep : t.watch.live}
              </span>
            )}
            <IconButton name="flip" label={t.play.flip} onClick={() => settings.patch({ flipped: !flipped })} />
            <Link class="icon" href={`/board/${board}`} aria-label={t.watch.page2} title={t.watch.page2}>
              <Icon name="link" />
            </Link>
          </span>
        </header>
        <div class="stage" data-board={board} data-fen={live?.fen ?? ""}>
          <div class="slide">
            <BoardView
              position={position}
              bottom={bottom}
              mover={!past && !ended && !result && session.may("predict") ? position.turn : null}
              lastMove={parent ? null : squares}
              arrows={arrows}
              label={t.play.board(board)}
              onMove={onMove}
            />
          </div>
          {result && !past && <ResultCard result={result} moves={game.moves} place={resultPlace(position, bottom)} />}
        </div>
      </section>
      <aside class="panel">
        {!ended && !result && <Thinks game={held && held.version >= (live?.version ?? 0) ? held : null} />}
        {line && <MoveList line={line} travel={{ at: at ?? last, last, to: (ply) => setAt(ply >= last ? null : ply) }} note={(ply) => noteOf(line.moves[ply - 1])} />}
        {!ended && !result && <Predictions
          state={predictions}
          position={now}
          parent={parent?.node ?? null}
          onFollow={(node) => {
            const m = now && fromUCI(now, node.uci);
            setAt(null);
            setParent(m ? { node, position: now.play(m), name: san(now, m) } : null);
          }}
        />}
      </aside>
    </div>
  );
}
