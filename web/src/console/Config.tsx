// What the server runs with, what a reload would change of it, and the reload.

import { useState } from "preact/hooks";
import { h } from "./texts";
import type { Config, DryRun, Setting } from "./ask";
import type { AskFirst } from "./Confirm";
import { Table } from "./Table";

export function ConfigPage({ config, confirm }: { config: Config | null; confirm: AskFirst }) {
  const [filter, setFilter] = useState("");
  const [all, setAll] = useState(false);
  const chosen = (list: Setting[]) => list.filter((s) => s.option.includes(filter) && (all || filter || s.from !== "default"));
  const lines = config?.reload ? summary(config.reload) : [];
  return (
    <section class="card" aria-labelledby="config" data-page="config">
      <h2 id="config">{h.config}</h2>
      {config && (
        <>
          <p class="faint">{h.configFile(config.file)}</p>
          {config.mistake && (
            <p class="error" role="alert">
              {h.configRefused} {config.mistake}
            </p>
          )}
          {config.reload && <Changes of={config.reload} />}
          <div class="buttons start">
            <button
              type="button"
              data-command="reload"
              onClick={() => confirm({ name: "reload", args: {}, title: h.reload, text: [h.confirm.reload, ...lines].join("\n") })}
            >
              {h.reload}
            </button>
          </div>
          <div class="search">
            <input aria-label={h.configFilter} placeholder={h.configFilter} value={filter} onInput={(e) => setFilter(e.currentTarget.value.trim())} />
            <label class="check">
              <input type="checkbox" checked={all} onChange={() => setAll(!all)} />
              {h.configAll}
            </label>
          </div>
          <Settings id="config-server" title={h.configServer} list={chosen(config.server)} />
          {config.profiles.map((p) => (
            <Settings key={p.name} id={`config-${p.name}`} title={h.configProfile(p.name, p.inherits)} list={chosen(p.options)} />
          ))}
        </>
      )}
    </section>
  );
}

/** summary is what a reload would change, a line each. */
function summary(f: DryRun): string[] {
  return [...f.changes.map((c) => `${c.profile ?? h.configServer}: ${c.what} ${c.old} → ${c.new}`), ...f.profiles, ...f.refused.map((r) => `${h.configRefused} ${r}`)];
}

function Changes({ of }: { of: DryRun }) {
  if (of.changes.length + of.profiles.length + of.refused.length === 0) return <p data-changes="0">{h.configSame}</p>;
  return (
    <div data-changes={of.changes.length}>
      <p id="config-changes">{h.configDiffers}</p>
      <Table of="config-changes" columns={h.configChanges}>
        {of.changes.map((c) => (
          <tr key={`${c.profile} ${c.what}`}>
            <td>{c.profile ?? h.configServer}</td>
            <td>{c.what}</td>
            <td>{c.old}</td>
            <td>
              <b>{c.new}</b>
            </td>
            <td>{h.effects[c.effect] ?? c.effect}</td>
          </tr>
        ))}
      </Table>
      {of.profiles.map((line) => (
        <p key={line}>{line}</p>
      ))}
      {of.refused.map((line) => (
        <p key={line} class="error">
          {h.configRefused} {line}
        </p>
      ))}
    </div>
  );
}

function Settings({ id, title, list }: { id: string; title: string; list: Setting[] }) {
  if (list.length === 0) return null;
  return (
    <>
      <h3 id={id}>{title}</h3>
      <Table of={id} columns={h.configColumns}>
        {list.map((s) => (
          <tr key={s.option} data-option={s.option}>
            <td>{s.option}</td>
            <td>{valueOf(s)}</td>
            <td class="faint">{originOf(s)}</td>
          </tr>
        ))}
      </Table>
    </>
  );
}

function valueOf(s: Setting): string {
  if (s.hidden) return h.secret;
  if (s.value === null) return h.unset;
  const text = typeof s.value === "string" ? JSON.stringify(s.value) : String(s.value);
  return s.unit ? `${text} ${s.unit}` : text;
}

function originOf(s: Setting): string {
  const place = s.file ? `${s.file.split("/").pop()}:${s.line}` : ""; // the whole name is above
  return [place, s.from === "profile" ? "" : `${s.from} ${s.profile ?? ""}`.trim()].filter(Boolean).join(", ");
}
