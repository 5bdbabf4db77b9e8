// What the database refused for good: look at it, try it again, or drop it.

import { h } from "./texts";
import type { Dead } from "./ask";
import type { AskFirst } from "./Confirm";
import { Table } from "./Table";

export function DeadLetters({ list, confirm }: { list: Dead[]; confirm: AskFirst }) {
  return (
    <section class="card" aria-labelledby="dead">
      <h2 id="dead">{h.dead}</h2>
      <Table of="dead" columns={h.deadColumns} empty={h.deadEmpty}>
        {list.map((d) => (
          <Letter key={`${d.part ?? ""}:${d.worker}/${d.number}`} letter={d} confirm={confirm} />
        ))}
      </Table>
      <p>
        <a href="/console/runner/">{h.queues}</a>
      </p>
    </section>
  );
}

function Letter({ letter: d, confirm }: { letter: Dead; confirm: AskFirst }) {
  const args = { part: d.part, worker: d.worker, number: d.number };
  return (
    <tr data-letter={d.number}>
      <td>{new Date(d.time).toLocaleString()}</td>
      <td>{d.cause}</td>
      <td>{d.reason}</td>
      <td>
        <details>
          <summary>{d.intents.join(", ") || h.decode}</summary>
          <pre>{JSON.stringify(d.details ?? d, null, 1)}</pre>
        </details>
      </td>
      <td>
        <div class="buttons">
          <button type="button" data-command="replay" onClick={() => confirm({ name: "dead-letter-replay", args, title: h.replay, text: h.confirm.replay })}>
            {h.replay}
          </button>
          <button type="button" class="danger" data-command="drop" onClick={() => confirm({ name: "dead-letter-drop", args, title: h.drop, text: h.confirm.drop })}>
            {h.drop}
          </button>
        </div>
      </td>
    </tr>
  );
}
