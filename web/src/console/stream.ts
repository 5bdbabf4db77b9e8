// What the server sends by itself: one stream of events, each with the answer of a
// question that the console would ask again and again.

import { Store } from "../session/store";
import { type Announced, type Audited, type Ban, type Cluster, type Config, type Dead, type Status, token, type Vitals } from "./ask";

/** Seen is what came last. */
export interface Seen {
  status: Status | null;
  vitals: Vitals | null;
  log: string[];
  audit: Audited[];
  bans: Ban[];
  announcements: Announced[];
  "dead-letters": Dead[];
  config: Config | null;
  cluster: Cluster | null;
  lost: boolean; // the server does not answer
}

const silence = 8_000; // ms without a sign of life: the connection is dead
const pause = 1_000; // ms before the next try

export const seen = new Store<Seen>({ status: null, vitals: null, log: [], audit: [], bans: [], announcements: [], "dead-letters": [], config: null, cluster: null, lost: false });

/** follow reads the stream until the returned function is called, and comes back to it whenever it ends. */
export function follow(): () => void {
  let gone = false;
  let stop = new AbortController();
  const run = async () => {
    while (!gone) {
      stop = new AbortController();
      const began = Date.now();
      try {
        const locked = await once(stop);
        if (gone) return;
        if (locked) return token.set("");
      } catch {
        if (gone) return;
        seen.patch({ lost: true });
      }
      if (Date.now() - began < pause) await new Promise((done) => setTimeout(done, pause));
    }
  };
  void run();
  return () => {
    gone = true;
    stop.abort();
  };
}

/** once reads the stream to its end, and returns whether the token was refused. */
async function once(stop: AbortController): Promise<boolean> {
  let timer = setTimeout(() => stop.abort(), silence);
  try {
    const answer = await fetch("api/stream", { headers: { Authorization: `Bearer ${token.value}` }, signal: stop.signal });
    if (answer.status === 401) return true;
    if (!answer.ok || !answer.body) throw new Error(String(answer.status));
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ""; ; ) {
      const { done, value } = await reader.read();
      if (done) return false;
      clearTimeout(timer);
      timer = setTimeout(() => stop.abort(), silence);
      const parts = (rest + value).split("\n\n");
      rest = parts.pop() ?? "";
      const news = Object.assign({ lost: false }, ...parts.map(parse));
      seen.patch(news);
    }
  } finally {
    clearTimeout(timer);
  }
}

/** parse reads an event; a sign of life has nothing in it. */
export function parse(text: string): Partial<Seen> {
  const name = /^event: (.*)$/m.exec(text)?.[1];
  const data = /^data: (.*)$/m.exec(text)?.[1];
  return name && data ? { [name]: JSON.parse(data) } : {};
}
