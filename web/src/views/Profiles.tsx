// The other profiles of this server: each has a port, and so an address, of its own.

import { useEffect, useState } from "preact/hooks";
import { session } from "../app";
import { useStore } from "../session/store";
import { t } from "../texts";

interface Place {
  name: string;
  port: string;
}

async function places(): Promise<Place[]> {
  const list = await session.caller.ask({ name: "LIST_PROFILES", body: {} });
  const found: Place[] = [];
  for (const name of list.message.body.names.split(",").filter(Boolean)) {
    const p = await session.caller.ask({ name: "GET_PROFILE_INFO", body: { name } });
    const [known, port] = p.message.body.info.split(";");
    const at = p.ext.int("profile.websocket_port") || Number(port);
    if (known === name && at > 0) found.push({ name, port: String(at) });
  }
  return found;
}

export function Profiles() {
  const { link } = useStore(session.status);
  const [list, setList] = useState<Place[]>([]);
  useEffect(() => {
    if (link === "online") places().then(setList, () => setList([]));
  }, [link]);
  const here = location.port || (location.protocol === "https:" ? "443" : "80");
  if (!list.some((p) => p.port !== here)) return null;
  return (
    <section class="card profiles" aria-labelledby="profiles">
      <h2 id="profiles">{t.you.profiles}</h2>
      <ul>
        {list.map((p) => (
          <li key={p.name} data-profile={p.name}>
            <b>{p.name}</b>
            {p.port === here ? (
              <span class="faint">{t.you.profileHere}</span>
            ) : (
              <a href={`${location.protocol}//${location.hostname}:${p.port}/`}>{t.you.profileGo(p.name)}</a>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
