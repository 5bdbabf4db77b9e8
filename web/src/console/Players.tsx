// Players: a search, and what is known of one, with what the host can do about them.

import { useEffect, useState } from "preact/hooks";
import { h } from "./texts";
import { ask, type Dossier, type People, type Person } from "./ask";
import type { AskFirst } from "./Confirm";
import { Table } from "./Table";

/** named is how commands name a person: by key, or a guest by the number of the session. */
const named = (p: Person) => p.public_key ?? String(p.session);
const when = (text?: string) => (text ? new Date(text).toLocaleString() : "");
const number = (n = 0) => n.toLocaleString(undefined, { maximumFractionDigits: 2 });

/** useAnswer asks again with each look; what came too late is dropped. */
function useAnswer<T>(of: string, look: number, get: (of: string) => Promise<T>): { got: T | null; wrong: string } {
  const [answer, set] = useState<{ of: string; got: T | null; wrong: string }>({ of: "", got: null, wrong: "" });
  useEffect(() => {
    if (!of) return;
    let gone = false;
    get(of).then(
      (got) => !gone && set({ of, got, wrong: "" }),
      (e: Error) => !gone && set({ of, got: null, wrong: e.message }),
    );
    return () => {
      gone = true;
    };
  }, [of, look]);
  return answer.of === of ? answer : { got: null, wrong: "" };
}

export function Players({ look, confirm }: { look: number; confirm: AskFirst }) {
  const [text, setText] = useState("");
  const [query, setQuery] = useState("");
  const [whom, setWhom] = useState("");
  const { got, wrong } = useAnswer<People>(query, look, ask.players);
  return (
    <section class="card" aria-labelledby="people">
      <h2 id="people">{h.people}</h2>
      <form
        class="search"
        onSubmit={(e) => {
          e.preventDefault();
          setQuery(text);
          setWhom("");
        }}
      >
        <label for="players-query">{h.search}</label>
        <input id="players-query" maxLength={80} autocomplete="off" value={text} onInput={(e) => setText(e.currentTarget.value.trim())} />
        <button type="submit">{h.show}</button>
      </form>
      {wrong && <p role="alert">{wrong}</p>}
      {got && (
        <Table of="people" columns={h.peopleColumns} empty={h.peopleEmpty}>
          {got.people.map((p) => (
            <tr key={`${p.database} ${named(p)}`} data-person={named(p)}>
              <td>
                <button type="button" class="plain" aria-expanded={whom === named(p)} onClick={() => setWhom(whom === named(p) ? "" : named(p))}>
                  {p.name ?? h.guest(p.session ?? 0)}
                </button>
              </td>
              <td>{p.public_key && <code>{p.public_key.slice(0, 12)}</code>}</td>
              <td>{number(p.score)}</td>
              <td>{p.rating ? Math.round(p.rating) : ""}</td>
              <td>{p.games}</td>
              <td>{when(p.last_seen)}</td>
              <td>{p.here.map((x) => [x.profile, x.address, x.board && h.board(x.board)].filter(Boolean).join(", ")).join("; ")}</td>
            </tr>
          ))}
        </Table>
      )}
      {got?.more && <p class="faint">{h.peopleMore}</p>}
      {whom && <Player whom={whom} look={look} confirm={confirm} />}
    </section>
  );
}

function Player({ whom, look, confirm }: { whom: string; look: number; confirm: AskFirst }) {
  const { got, wrong } = useAnswer<Dossier[]>(whom, look, ask.player);
  if (wrong) return <p role="alert">{wrong}</p>;
  return <>{got?.map((d) => <Details key={d.database} d={d} whom={whom} confirm={confirm} />)}</>;
}

function Details({ d, whom, confirm }: { d: Dossier; whom: string; confirm: AskFirst }) {
  const name = d.name ?? h.guest(d.session ?? 0);
  const act = (command: string, args: object, title: string, text: string) => confirm({ name: command, args: { whom, ...args }, title, text });
  const facts: [string, string][] = [
    [h.fact.key, d.public_key ?? ""],
    [h.fact.database, d.database],
    [h.fact.since, when(d.created)],
    [h.fact.renamed, when(d.renamed)],
    [h.fact.former, d.former_names.map((n) => `${n.name} (${h.until(when(n.until))})`).join(", ")],
    [h.fact.score, `${number(d.score)} (${d.games})`],
    [h.fact.rating, d.rating ? String(Math.round(d.rating)) : ""],
    [h.fact.rank, d.rank ? `${d.rank} / ${d.ranked}` : ""],
    [h.fact.holds, d.holds.join(", ")],
  ];
  return (
    <div class="dossier" data-dossier={whom}>
      <h3>{name}</h3>
      <dl>
        {facts
          .filter(([, value]) => value)
          .map(([label, value]) => (
            <div key={label}>
              <dt>{label}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      {d.bans.map((b) => (
        <p key={`${b.profile} ${b.whom}`} class="error">
          {h.bannedAs(b.profile, b.whom, b.until ? when(b.until) : h.forEver, b.text ?? "")}
        </p>
      ))}
      <h4 id={`sessions-${whom}`}>{h.sessions}</h4>
      <Table of={`sessions-${whom}`} columns={h.sessionsColumns} empty={h.sessionsEmpty}>
        {d.sessions.map((s) => (
          <tr key={s.session} data-session={s.session}>
            <td>{s.session}</td>
            <td>{s.trust}</td>
            <td>{when(s.created)}</td>
            <td>{when(s.lastSeen)}</td>
            <td>{[s.profile, s.address].filter(Boolean).join(", ")}</td>
            <td>
              <button
                type="button"
                data-command="end"
                onClick={() => confirm({ name: "revoke", args: { whom: String(s.session) }, title: h.endSession, text: h.confirm.revoke(s.session) })}
              >
                {h.endSession}
              </button>
            </td>
          </tr>
        ))}
      </Table>
      {d.sessions.length > 1 && (
        <button type="button" data-command="end-all" onClick={() => act("revoke", {}, h.endSessions, h.confirm.revokeAll)}>
          {h.endSessions}
        </button>
      )}
      {d.boards.length > 0 && (
        <>
          <h4>{h.boardsOf}</h4>
          <p>{d.boards.map((b) => `${b.board} (${b.profile}, ${b.status.toLowerCase()}, ${when(b.at)})`).join("; ")}</p>
        </>
      )}
      {d.more && <p class="faint">{h.dossierMore}</p>}
      <div class="forms">
        <One id={`trust-${whom}`} label={h.trust} kind="number" button={h.setTrust} onValue={(v) => act("trust", { level: Number(v) }, h.setTrust, h.confirm.trust(name, v))} />
        {d.public_key && <One id={`rename-${whom}`} label={h.newName} kind="text" button={h.rename} onValue={(v) => act("rename", { name: v }, h.rename, h.confirm.rename(name, v))} />}
      </div>
    </div>
  );
}

/** One is a form with one field. */
function One({ id, label, kind, button, onValue }: { id: string; label: string; kind: "number" | "text"; button: string; onValue(value: string): void }) {
  const [value, set] = useState("");
  const shared = { id, autocomplete: "off", value, onInput: (e: { currentTarget: HTMLInputElement }) => set(e.currentTarget.value.trim()) };
  return (
    <form
      class="search"
      onSubmit={(e) => {
        e.preventDefault();
        if (value) onValue(value);
      }}
    >
      <label for={id}>{label}</label>
      {kind === "text" ? <input maxLength={20} {...shared} /> : <input type="number" min="0" {...shared} />}
      <button type="submit">{button}</button>
    </form>
  );
}
