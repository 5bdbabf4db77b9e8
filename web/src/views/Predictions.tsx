// The tree of predictions beside a board, and the player's streak.

import { useEffect, useRef, useState } from "preact/hooks";
import { session, tell } from "../app";
import { fromUCI, Position, san } from "../chess";
import { type PredictionNode, predictions, treeOf } from "../session/predictions";
import { useStore } from "../session/store";
import { past } from "../standing";
import { t } from "../texts";
import { Icon } from "../ui/Icon";
import { PredictionStatus } from "../wire";
import type { Line } from "./useGame";

interface PredictionState {
  tree: PredictionNode[];
  off: boolean;
  refresh(): void;
  /** guess remembers the player's own prediction of the next move. */
  guess(uci: string, name: string): void;
}

const every = 4000; // ms between two requests for the predictions of others

export function usePredictions(board: string, position: Position | null, line: Line | null): PredictionState {
  const { token, link, caps } = useStore(session.status);
  const [tree, setTree] = useState<PredictionNode[]>([]);
  const [off, setOff] = useState(false);
  const open = useRef<{ ply: number; uci: string; name: string } | null>(null);
  const ply = line?.moves.length ?? 0;

  const refresh = () => {
    if (link !== "online" || !session.may("readPredictions")) return setOff(!session.may("predict"));
    predictions(session, BigInt(board)).then(
      (rows) => {
        setOff(false);
        setTree(treeOf(rows.filter((r) => r.status === PredictionStatus.pending), token));
      },
      () => setTree([]),
    );
  };

  useEffect(() => {
    refresh();
    const timer = setInterval(refresh, every);
    return () => clearInterval(timer);
  }, [board, position, link, caps]);

  // The next move shows whether the guess was right; the server counts the points.
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

export function Predictions(props: { state: PredictionState; position: Position | null; parent: PredictionNode | null; onFollow(node: PredictionNode): void }) {
  const { streak } = useStore(past);
  const { state, position } = props;
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
      <p class="faint">{state.off ? t.predict.off : t.predict.lead}</p>
      {!state.off && state.tree.length === 0 && <p class="faint">{t.predict.none}</p>}
      {position && state.tree.length > 0 && <Tree nodes={state.tree} position={position} parent={props.parent} onFollow={props.onFollow} />}
    </section>
  );
}

function Tree({ nodes, position, parent, onFollow }: { nodes: PredictionNode[]; position: Position; parent: PredictionNode | null; onFollow(node: PredictionNode): void }) {
  return (
    <ul class="tree">
      {nodes.map((node) => {
        const move = fromUCI(position, node.uci);
        const name = move ? san(position, move) : node.uci;
        return (
          <li key={node.uci}>
            <button type="button" class={node.mine ? "mine" : ""} aria-pressed={parent?.id === node.id} title={t.predict.follow(name)} onClick={() => onFollow(node)}>
              <b>{name}</b>
              <span>{t.predict.others(node.count)}</span>
              {node.mine && <em>{t.predict.mine}</em>}
            </button>
            {move && node.next.length > 0 && <Tree nodes={node.next} position={position.play(move)} parent={parent} onFollow={onFollow} />}
          </li>
        );
      })}
    </ul>
  );
}
