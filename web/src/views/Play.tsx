// The board that you hold: one move, then the next board slides in.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { go, session } from "../app";
import { BoardView } from "../board/BoardView";
import { Piece } from "../board/PieceDefs";
import { type Color, type Move, type Outcome, outcome, Position, san, uci } from "../chess";
import type { Board } from "../session/board";
import { useStore } from "../session/store";
import { reducedMotion, settings } from "../settings";
import { sounds } from "../sound";
import { t } from "../texts";
import { Icon, IconButton } from "../ui/Icon";
import { Link } from "../ui/Link";
import { Caps } from "../wire";
import { holds, refused } from "../words";
import { EndCard, Story } from "./Moment";
import { Away, Panel } from "./PlayPanel";
import { resultPlace } from "./Result";
import { Typed } from "./Typed";

const landing = 260; // ms in which the player sees their own move
const leaving = 200; // ms in which the old board slides out
const moment = 2000; // ms for which the end of a game stays

interface Shown {
  board: Board;
  position: Position;
  lastMove: readonly [number, number] | null;
  phase: "here" | "leaving" | "arriving";
  end: Outcome; // the player's move has ended the game
}

const still = (board: Board, phase: Shown["phase"]): Shown => ({ board, position: Position.parse(board.fen), lastMove: board.lastMove, phase, end: null });

/** useStage returns the board on show, which follows the session with animations. */
function useStage() {
  const { board } = useStore(session.status);
  const [shown, show] = useState<Shown | null>(board ? still(board, "here") : null);
  const moved = useRef({ at: 0, end: null as Outcome });
  const focused = useRef(false); // the board before this one had the focus
  const hurry = useRef<() => void>(() => {});

  useEffect(() => {
    if (!board) {
      // All boards are taken, or the session has ended; the end of a game stays for its moment.
      const { at, end } = moved.current;
      const timer = setTimeout(() => show(null), end ? moment - (performance.now() - at) : 0);
      hurry.current = () => show(null);
      return () => clearTimeout(timer);
    }
    if (shown && shown.board === board) return;
    if (!shown || (shown.board.id === board.id && !shown.end)) {
      show(still(board, "here"));
      return;
    }
    const speed = reducedMotion() ? 0 : 1;
    const { at, end } = moved.current;
    const stays = Math.max(0, (end ? moment : landing * speed) - (performance.now() - at));
    const arrive = () => {
      focused.current = document.activeElement?.closest(".squares") != null;
      show(still(board, "arriving"));
      sounds.arrive();
    };
    const timers: ReturnType<typeof setTimeout>[] = [];
    const leave = () => {
      timers.forEach(clearTimeout);
      moved.current.end = null;
      if (!speed) return arrive();
      show((s) => s && { ...s, phase: "leaving" });
      timers.push(setTimeout(arrive, leaving));
    };
    hurry.current = leave;
    timers.push(setTimeout(leave, stays));
    return () => {
      hurry.current = () => {};
      timers.forEach(clearTimeout);
    };
  }, [board]);

  useEffect(
    () =>
      session.on((e) => {
        if (e.kind !== "refused") return;
        moved.current.end = null;
        const { board } = session.status.value;
        if (board && String(board.id) === e.move.board) show(still(board, "here")); // as it was before the move
      }),
    [],
  );

  const move = (m: Move) => {
    if (!shown) return;
    const { position, board } = shown;
    const after = position.play(m);
    const end = outcome(after);
    moved.current = { at: performance.now(), end };
    (position.captures(m) ? sounds.capture : sounds.move)();
    if (end === "checkmate") sounds.win();
    else if (end) sounds.draw();
    else if (after.inCheck) sounds.check();
    show({ ...shown, position: after, lastMove: [m.from, m.to], end });
    session.play({ uci: uci(m, board.chess960), san: san(position, m), piece: position.at(m.from), ply: position.ply + 1 });
  };
  return { shown, move, focused, hurry };
}

export function Play() {
  const status = useStore(session.status);
  const chosen = useStore(settings);
  const { shown, move, focused, hurry } = useStage();
  const may = (status.caps & Caps.move) !== 0; // not before the terms are accepted, nor against the policy
  const mine = shown && shown.board === status.board && !status.sending && !status.refusal && !status.elsewhere && may;
  const side: Color = useMemo(() => (shown ? Position.parse(shown.board.fen).turn : "w"), [shown?.board]);
  const bottom: Color = (side === "w") !== chosen.flipped ? "w" : "b";

  useEffect(() => {
    if (shown) performance.mark("board"); // for tests that measure how long it took
  }, [!shown]);

  useEffect(() => {
    document.title = shown ? `${t.play.board(String(shown.board.id))} · ${t.name}` : t.name;
  }, [shown?.board.id]);

  useEffect(() => {
    const onKey = (e: KeyboardEvent) => {
      if (e.key === "f" && !e.ctrlKey && !e.metaKey && !(e.target as HTMLElement).closest("input,textarea,dialog")) settings.patch({ flipped: !settings.value.flipped });
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);

  if (!shown) return <Waiting />;
  const id = String(shown.board.id);
  const sideName = side === "w" ? t.play.white : t.play.black;
  return (
    <div class="play">
      <section class="table" aria-label={t.play.title}>
        <header class="board-head">
          <h1>{t.play.board(id)}</h1>
          {shown.board.chess960 && <span class="tag">{t.play.chess960}</span>}
          <span class="turn" role="status">
            <Piece piece={side === "w" ? "K" : "k"} />
            {status.sending ? t.play.sending : may || !status.board ? t.play.yourMove(sideName) : status.caps === 0 ? t.play.termsFirst : t.play.mayNot}
            {mine && shown.position.inCheck && <b class="in-check">{t.play.check}</b>}
          </span>
          <span class="tools">
            <IconButton name="flip" label={t.play.flip} onClick={() => settings.patch({ flipped: !chosen.flipped })} />
            <IconButton
              name={chosen.sound ? "sound" : "mute"}
              label={chosen.sound ? t.play.soundOff : t.play.soundOn}
              aria-pressed={chosen.sound}
              onClick={() => settings.patch({ sound: !chosen.sound })}
            />
            <Link class="icon" href={`/board/${id}`} title={t.play.share} aria-label={t.play.share}>
              <Icon name="link" />
            </Link>
          </span>
        </header>
        <div class="stage" data-board={id} data-version={shown.board.version} data-fen={shown.board.fen} data-ready={mine && shown.phase !== "leaving" ? "yes" : "no"}>
          <div class={`slide ${shown.phase}`} key={id}>
            <BoardView
              position={shown.position}
              bottom={bottom}
              mover={mine && shown.phase !== "leaving" ? side : null}
              lastMove={shown.lastMove}
              focus={focused.current}
              arrives={shown.phase === "arriving"}
              label={t.play.boardLabel(id, sideName)}
              onMove={move}
            />
          </div>
          {shown.end && <EndCard board={id} version={shown.board.version + 1} end={shown.end} side={sideName} place={resultPlace(shown.position, bottom)} onGo={() => hurry.current()} />}
        </div>
        <Story board={shown.board} position={shown.position} side={sideName} end={shown.end} />
        <Typed board={shown.board} position={shown.position} onMove={mine && shown.phase !== "leaving" ? move : null} />
      </section>
      <Panel />
    </div>
  );
}

/** Waiting is what a player sees who has no board: yet, or because all are taken. */
function Waiting() {
  const { link, refusal, held, full: taken, place } = useStore(session.status);
  const full = taken && link === "online" && !refusal && !held;
  return (
    <div class="waiting">
      <div class="ghost-board" aria-hidden="true" />
      <div role="status">
        <h1>{full ? t.link.full : refusal ? refused(refusal) : held ? holds(held, false) : t.link.connecting}</h1>
      </div>
      {full && (
        <>
          <p class="faint">{place > 1 ? t.link.place(place - 1) : t.link.next}</p>
          <button type="button" class="main" onClick={() => go("/watch")}>
            {t.link.watch}
          </button>
          <Away />
        </>
      )}
    </div>
  );
}
