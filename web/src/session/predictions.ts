// Predicting moves of a board, and reading what others predict.

import type { Int, Prediction } from "../wire";
import type { Session } from "./session";

/** predict returns what became of the prediction: a SubmitStatus, or 0 when the server does not say. */
export async function predict(session: Session, board: Int, uci: string, parent: Int): Promise<number> {
  const p = await session.caller.ask({ name: "SUBMIT_PREDICTION", body: { uci, parent }, board }, "PREDICTION_DATA");
  return p.ext.int("prediction.submit_status") ?? 0;
}

export async function predictions(session: Session, board: Int): Promise<Prediction[]> {
  const p = await session.caller.ask({ name: "GET_PREDICTIONS", body: { depth: 0, limit: 16 }, board }, "PREDICTION_DATA");
  return p.message?.name === "PREDICTION_DATA" ? p.message.body.rows : [];
}

/** Twig is a predicted move with those who predict it, and what may follow. */
export interface Twig {
  uci: string;
  id: Int; // of one of its rows, to predict behind
  count: number;
  mine: boolean;
  status: number;
  points: number;
  next: Twig[];
}

/** grow makes the tree of rows: equal moves under one parent are one twig. */
export function grow(rows: readonly Prediction[], me: string): Twig[] {
  const ids = new Set(rows.map((r) => String(r.id)));
  const under = (parents: ReadonlySet<string>): Twig[] => {
    const twigs = new Map<string, { twig: Twig; ids: Set<string> }>();
    for (const r of rows) {
      if (!parents.has(ids.has(String(r.parent)) ? String(r.parent) : "0")) continue;
      const key = `${r.uci} ${r.target_ply}`;
      const found = twigs.get(key) ?? { twig: { uci: r.uci, id: r.id, count: 0, mine: false, status: r.status, points: 0, next: [] }, ids: new Set() };
      found.ids.add(String(r.id));
      found.twig.count++;
      if (r.author === me) {
        found.twig.mine = true;
        found.twig.id = r.id;
        found.twig.points = r.points;
      }
      twigs.set(key, found);
    }
    return [...twigs.values()]
      .map(({ twig, ids }) => ({ ...twig, next: under(ids) }))
      .sort((a, b) => b.count - a.count || Number(b.mine) - Number(a.mine));
  };
  return under(new Set(["0"]));
}
