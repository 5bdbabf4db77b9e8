// The tree of predictions beside a board, and the player's streak.

import { useEffect, useRef, useState } from "preact/hooks";
import { session, tell } from "../app";
import { fromUCI, Position, san } from "../chess";
import { grow, predictions, type Twig } from "../session/predictions";
import { useStore } from "../session/store";
import { past } from "../standing";
import { t } from "../texts";
import { Icon } from "../ui/Icon";
import { PredictionStatus } from "../wire";
import type { Line } from "./useGame";

interface Tips {
  tree: Twig[];
  off: boolean;
  refresh(): void;
  /** guess remembers the player's own prediction of the next move. */
  guess(uci: string, name: string): void;
}

const every = 4000; // ms between two looks at what others predict

export function usePredictions(board: string, position: Position | null, line: Line | null): Tips {
  const { token, link, caps } = useStore(session.status);
  const [tree, setTree] = useState<Twig[]>([]);
  const [off, setOff] = useState(false);
  const open = useRef<{ ply: number; uci: string; name: string } | null>(null);
  const ply = line?.moves.length ?? 0;

  const refresh = () => {
    if (link !== "online" || !session.may("readPredictions")) return setOff(!session.may("predict"));
    predictions(session, BigInt(board)).then(
      (rows) => {
        setOff(false);
        setTree(grow(rows.filter((r) => r.status === PredictionStatus.pending), token));
      },
      () => setTree([]),
    );
  };

  useEffect(() => {
    refresh();
    const timer = setInterval(refresh, every);
    return () => clearInterval(timer);
  }, [board, position, link, caps]);

  // The move that came decides the guess: the server counts the points.
  useEffect(() => {
    const guess = open.current;
    const played = guess && line?.moves[guess.ply];
    if (!guess || !played) return;
    open.current = null;
    const right = played.uci === guess.uci;
    const h = past.value;
    past.patch({ predicted: h.predicted + 1, right: h.right + (right ? 1 : 0), streak: right ? h.streak + 1 : 0 });
    if (right) tell(t.predict.right(guess.name), "good");
    else tell(t.predict.wrong(guess.name));
  }, [ply]);

  return {
    tree,
    off,
    refresh,
    guess: (uci, name) => (open.current = { ply, uci, name }),
  };
}

export function Predictions(props: { tips: Tips; position: Position | null; stem: Twig | null; onFollow(twig: Twig): void }) {
  const { streak } = useStore(past);
  const { tips, position } = props;
  return (
    <section class="card predictions" aria-labelledby="predictions">
      <h2 id="predictions">
        {t.predict.title}
        {streak > 0 && (
          <span class="streak" data-streak={streak}>
            <Icon name="flame" />
            {t.predict.streak(streak)}
          </span>
        )}
      </h2>
      <p class="faint">{tips.off ? t.predict.off : t.predict.lead}</p>
      {!tips.off && tips.tree.length === 0 && <p class="faint">{t.predict.none}</p>}
      {position && tips.tree.length > 0 && <Tree twigs={tips.tree} position={position} stem={props.stem} onFollow={props.onFollow} />}
    </section>
  );
}

function Tree({ twigs, position, stem, onFollow }: { twigs: Twig[]; position: Position; stem: Twig | null; onFollow(twig: Twig): void }) {
  return (
    <ul class="tree">
      {twigs.map((twig) => {
        const move = fromUCI(position, twig.uci);
        const name = move ? san(position, move) : twig.uci;
        return (
          <li key={twig.uci}>
            <button type="button" class={twig.mine ? "mine" : ""} aria-pressed={stem?.id === twig.id} title={t.predict.follow(name)} onClick={() => onFollow(twig)}>
              <b>{name}</b>
              <span>{t.predict.others(twig.count)}</span>
              {twig.mine && <em>{t.predict.mine}</em>}
            </button>
            {move && twig.next.length > 0 && <Tree twigs={twig.next} position={position.play(move)} stem={stem} onFollow={onFollow} />}
          </li>
        );
      })}
    </ul>
  );
}
