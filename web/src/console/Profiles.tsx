// The profiles that run: their boards, players and queues, and their switches.

import { useState } from "preact/hooks";
import { h } from "./texts";
import type { Profile } from "./ask";
import type { AskFirst } from "./Confirm";
import { Table } from "./Table";

const states = ["DORMANT", "ACTIVE", "RESERVED"];

/** brownoutOf turns the words of a brown-out into the argument of the command. */
function brownoutOf(words: ReadonlySet<string>) {
  return {
    NoNewSessions: words.has("no-new-sessions"),
    NoPredictions: words.has("no-predictions"),
    SlowWatching: words.has("slow-watching"),
    ReadOnly: words.has("read-only"),
  };
}

export function ProfileTable({ profiles, confirm }: { profiles: Profile[]; confirm: AskFirst }) {
  return (
    <section class="card" aria-labelledby="profiles">
      <h2 id="profiles">{h.profiles}</h2>
      <Table of="profiles" columns={h.columns}>
        {profiles.flatMap((p) => [
          <tr key={p.name} data-profile={p.name}>
            <td>
              <b>{p.name}</b>
            </td>
            <td class={p.ready ? "good" : "bad"}>
              {p.stage}
              {p.store_away && <em> {h.away}</em>}
            </td>
            <td>
              udp {p.udp}
              <br />
              http {p.http}
            </td>
            <td>
              <Pool boards={p.boards} />
            </td>
            <td>{p.sessions}</td>
            <td>{p.sessions_present}</td>
            <td>{p.moves.toLocaleString("en")}</td>
            <td>
              {p.queue_depth}
              {p.queue_age > 1 && <em> {h.behind(p.queue_age)}</em>}
            </td>
            <td>
              <Switches profile={p} confirm={confirm} />
            </td>
          </tr>,
          ...(p.shards ?? []).map((k, i) => k.away ? (
            <tr key={`${p.name} ${i}`} data-shard={i}>
              <td>{h.shard(i)}</td>
              <td colSpan={8}>{k.stage}</td>
            </tr>
          ) : (
            <tr key={`${p.name} ${i}`} data-shard={i}>
              <td>{h.shard(i)}</td>
              <td class={k.ready ? "good" : "bad"}>{k.stage}</td>
              <td>{k.open ? h.shardOpen : h.shardClosed}</td>
              <td>{k.boards}</td>
              <td>{k.sessions}</td>
              <td>{k.sessions_present}</td>
              <td>{k.moves.toLocaleString("en")}</td>
              <td>
                {k.queue_depth}
                {k.queue_age > 1 && <em> {h.behind(k.queue_age)}</em>}
              </td>
              <td />
            </tr>
          )),
        ])}
      </Table>
    </section>
  );
}

function Pool({ boards }: { boards: Record<string, number> }) {
  const total = states.reduce((n, s) => n + (boards[s] ?? 0), 0) || 1;
  const text = states.map((s) => `${boards[s] ?? 0} ${s.toLowerCase()}`).join(", ");
  return (
    <>
      <svg class="pool" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={`${h.boards}: ${text}`}>
        {states.map((s, i) => {
          const before = states.slice(0, i).reduce((n, x) => n + (boards[x] ?? 0), 0);
          return <rect key={s} class={s.toLowerCase()} x={(100 * before) / total} width={(100 * (boards[s] ?? 0)) / total} y="0" height="6" />;
        })}
      </svg>
      {text}
    </>
  );
}

function Switches({ profile, confirm }: { profile: Profile; confirm: AskFirst }) {
  const [chosen, setChosen] = useState<Set<string> | null>(null);
  const on = chosen ?? new Set(profile.brownout ?? []);
  const words = Object.keys(h.switches);
  const toggle = (w: string) => {
    const next = new Set(on);
    if (!next.delete(w)) next.add(w);
    setChosen(next);
  };
  return (
    <details class="switches">
      <summary>{profile.brownout?.length ? profile.brownout.join(", ") : h.brownout}</summary>
      {words.map((w) => (
        <label class="check" key={w}>
          <input type="checkbox" checked={on.has(w)} onChange={() => toggle(w)} />
          {h.switches[w]}
        </label>
      ))}
      <button
        type="button"
        onClick={() => {
          confirm({
            name: "brownout",
            args: { profile: profile.name, brownout: brownoutOf(on) },
            title: h.brownout,
            text: h.confirm.brownout(profile.name, [...on].map((w) => h.switches[w]).join(", ")),
          });
          setChosen(null);
        }}
      >
        {h.apply}
      </button>
    </details>
  );
}
