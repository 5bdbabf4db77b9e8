// The machines that share the world, if there are several.

import { h } from "./texts";
import type { Cluster } from "./ask";
import { Table } from "./Table";

const when = (text: string) => new Date(text).toLocaleString();

export function Machines({ cluster }: { cluster: Cluster | null }) {
  if (!cluster || cluster.nodes.length < 2) return null;
  return (
    <section class="card" aria-labelledby="machines">
      <h2 id="machines">{h.machines}</h2>
      <Table of="machines" columns={h.machineColumns}>
        {cluster.nodes.map((n) => (
          <tr key={n.name} data-machine={n.name}>
            <td>
              <b>{n.name}</b>
              {n.self && <span class="faint"> {h.thisMachine}</span>}
            </td>
            <td class={n.ready && !n.error ? "good" : "bad"}>
              {n.lost ? h.lostSince(when(n.lost)) : (n.error ?? (n.ready ? h.serves : h.servesNobody))}
            </td>
            <td>{n.address}</td>
            <td>{(n.parts ?? []).join(" ")}</td>
            <td>{n.players}</td>
            <td>{n.moves.toLocaleString("en")}</td>
            <td>{h.seconds(n.queue_age)}</td>
            <td>{n.dead_letters}</td>
            <td>{n.version}</td>
          </tr>
        ))}
      </Table>
      {cluster.free && <p class="bad">{h.freeParts(cluster.free.join(" "))}</p>}
    </section>
  );
}
