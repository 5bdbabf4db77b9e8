// What the player is told where it happens: what became of their move, where they are
// now, and how a game ended.

import { useEffect, useMemo, useState } from "preact/hooks";
import { type GameMove, gameSince } from "../api";
import { session } from "../app";
import { pieceName } from "../board/names";
import { fromUCI, type Outcome, Position, san, squareName } from "../chess";
import type { Board } from "../session/board";
import { predictions } from "../session/predictions";
import { useStore } from "../session/store";
import { past, payouts } from "../standing";
import { t } from "../texts";
import { Movers } from "../ui/Name";
import { PredictionStatus } from "../wire";

const tapped = 400; // ms in which a click is still of the tap that made the move

/** lastMoveOf is the last move of a board in words; "" when there is none. */
export function lastMoveOf(board: Board, position: Position): string {
  const to = board.lastMove?.[1];
  const piece = to === undefined ? "" : pieceName(position.at(to));
  return piece && t.play.lastMove(piece, squareName(to!));
}

/** arrival is where a player is: the side they play and the last move, in words. */
export function arrival(board: Board, position: Position, side: string): string {
  return `${t.play.arrival(String(board.id), side)} ${lastMoveOf(board, position)}`;
}

/** crowdText is how others have moved in a position, in words: "e4 12×, d4 5×". */
export function crowdText(position: Position, moves: string): string {
  const told = [...moves.matchAll(/(\S+) (\d+)/g)].map(([, uci, n]) => {
    const move = fromUCI(position, uci);
    return move ? t.play.crowdMove(san(position, move), Number(n)) : "";
  });
  return told.filter(Boolean).join(", ");
}

/** Story says what became of the last move, and what this game is. */
export function Story({ board, position, side, end }: { board: Board; position: Position; side: string; end: Outcome }) {
  const { steps } = useStore(past);
  const [guessed, setGuessed] = useState({ board: "", n: 0 });
  const [crowd, setCrowd] = useState({ board: "", text: "" });
  useEffect(
    () =>
      session.on((e) => {
        if (e.kind !== "played") return;
        const { board, uci } = e.move;
        setCrowd({ board, text: e.fen && crowdText(Position.parse(e.fen), e.crowd) });
        if (!session.may("readPredictions")) return;
        predictions(session, BigInt(board)).then(
          (rows) => setGuessed({ board, n: rows.filter((r) => r.status === PredictionStatus.correct && r.uci === uci).length }),
          () => {},
        );
      }),
    [],
  );
  const id = String(board.id);
  const last = steps[0];
  const here = steps.find((s) => s.board === id);
  const moved = last && last.board !== id ? t.play.stays(last.san, last.board) : "";
  if (end) {
    return (
      <p class="story" role="status">
        {end === "checkmate" ? t.play.mate(id) : t.play.stalemate(id)}
      </p>
    );
  }
  const n = last && guessed.board === last.board ? guessed.n : 0;
  return (
    <p class="story" role="status">
      {moved && <span>{moved} </span>}
      {last && crowd.board === last.board && crowd.text && <em data-crowd>{t.play.crowd(crowd.text)} </em>}
      {n > 0 && <em>{t.play.predicted(n)} </em>}
      <b>{arrival(board, position, side)}</b>
      {here && here !== last && <span> {t.play.again(here.san)}</span>}
    </p>
  );
}

/** EndCard shows how the player's move has ended a game, and what it brought; who moved there follows when the server tells it. */
export function EndCard({ board, version, end, side, place, onGo }: { board: string; version: number; end: NonNullable<Outcome>; side: string; place: string; onGo(): void }) {
  const won = useStore(payouts)[board];
  const [moves, setMoves] = useState<GameMove[]>([]);
  const since = useMemo(() => performance.now(), []);
  useEffect(() => {
    void gameSince(board, version).then((g) => g && setMoves(g.moves));
  }, [board]);
  return (
    <button type="button" class={`${place} end`} onClick={() => performance.now() - since > tapped && onGo()}>
      <b>{end === "checkmate" ? t.game.won(side, t.endings.checkmate) : t.game.drawn(t.endings.stalemate)}</b>
      <span>{end === "checkmate" ? t.play.mate(board) : t.play.stalemate(board)}</span>
      {won && <strong>{t.trail.won(won)}</strong>}
      <Movers moves={moves} />
    </button>
  );
}
