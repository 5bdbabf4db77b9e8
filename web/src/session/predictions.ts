// Predicting moves of a board, and reading what others predict.

import type { Int, Prediction } from "../wire";
import type { Session } from "./session";

/** predict returns what became of the prediction: a SubmitStatus, or 0 when the server does not say. */
export async function predict(session: Session, board: Int, uci: string, parent: Int): Promise<number> {
  const p = await session.caller.ask({ name: "SUBMIT_PREDICTION", body: { uci, parent }, board });
  return p.ext.int("prediction.submit_status") ?? 0;
}

export async function predictions(session: Session, board: Int): Promise<Prediction[]> {
  const p = await session.caller.ask({ name: "GET_PREDICTIONS", body: { depth: 0, limit: 16 }, board });
  return p.message.body.rows;
}

/** PredictionNode is a predicted move, with how many players predict it and the predictions that follow from it. */
export interface PredictionNode {
  uci: string;
  id: Int; // of one of its rows: the parent of a prediction that follows
  count: number;
  mine: boolean;
  status: number;
  points: number;
  next: PredictionNode[];
}

/** treeOf makes a tree of rows: equal moves under one parent are one node. */
export function treeOf(rows: readonly Prediction[], me: string): PredictionNode[] {
  const ids = new Set(rows.map((r) => String(r.id)));
  const under = (parents: ReadonlySet<string>): PredictionNode[] => {
    const nodes = new Map<string, { node: PredictionNode; ids: Set<string> }>();
    for (const r of rows) {
      if (!parents.has(ids.has(String(r.parent)) ? String(r.parent) : "0")) continue;
      const key = `${r.uci} ${r.target_ply}`;
      const found = nodes.get(key) ?? { node: { uci: r.uci, id: r.id, count: 0, mine: false, status: r.status, points: 0, next: [] }, ids: new Set() };
      found.ids.add(String(r.id));
      found.node.count++;
      if (r.author === me) {
        found.node.mine = true;
        found.node.id = r.id;
        found.node.points = r.points;
      }
      nodes.set(key, found);
    }
    return [...nodes.values()]
      .map(({ node, ids }) => ({ ...node, next: under(ids) }))
      .sort((a, b) => b.count - a.count || Number(b.mine) - Number(a.mine));
  };
  return under(new Set(["0"]));
}
