// What the console asks of the server. The token is sent as a header of each
// request and kept for this tab only: nothing that a browser would add by itself
// opens the door, so no other page can use it.

import { read } from "../http";
import { Store } from "../session/store";

const key = "wamble.admin";

export const token = new Store<string>(sessionStorage.getItem(key) ?? "");
token.subscribe((t) => (t ? sessionStorage.setItem(key, t) : sessionStorage.removeItem(key)));

/** Locked is thrown when the token is not accepted. */
export class Locked extends Error {}

async function look<T>(path: string, bearer = token.value): Promise<T> {
  return body(await read(`api/${path}`, { headers: { Authorization: `Bearer ${bearer}` } }));
}

/** random names a request, so that the server knows one that a browser sends again. */
const random = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

async function give<T>(command: string, args: unknown): Promise<T> {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${token.value}`, "Idempotency-Key": random() };
  return body(await fetch(`api/act/${command}`, { method: "POST", body: JSON.stringify(args ?? {}), headers }));
}

async function body<T>(answer: Response): Promise<T> {
  if (answer.status === 401) throw new Locked();
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.error ?? String(answer.status));
  return said as T;
}

export interface Profile {
  name: string;
  ready: boolean;
  stage: string;
  udp: string;
  http: string;
  store: string;
  store_away: boolean;
  boards: Record<string, number>;
  sessions: number;
  sessions_present: number;
  moves: number;
  queue_depth: number;
  queue_age: number;
  failures?: number;
  brownout?: string[];
  bans?: number;
}

export interface Status {
  pid: number;
  uptime: number;
  data: string;
  journal: { state: string; durability: string; dead_letters: number };
  draining?: boolean;
  profiles: Profile[];
  last_reload?: { error?: string; changes: string[] };
}

/** Vitals are the counters of a moment; charts are made of their differences. */
export interface Vitals {
  at: number; // ms
  bounds: number[]; // of the latency, in seconds
  profiles: { name: string; moves: number; latency: number[]; queue: number }[];
}

export interface Dead {
  worker: number;
  number: number;
  time: number;
  cause: string;
  reason: string;
  attempts: number;
  intents: string[];
  details?: unknown[];
}

export interface Ban {
  profile: string;
  whom: string;
  text?: string;
  until?: string;
}

/** PlayerSession is a session of a player, as the database has it. */
export interface PlayerSession {
  profile: string;
  session: number;
  created: string;
  lastSeen: string;
}

/** Audited is a line of the audit log. */
export interface Audited {
  at: string;
  from: string;
  verb: string;
  args?: unknown;
  error?: string;
}

/** Field is an argument of a command. */
export interface Field {
  name: string;
  kind: "text" | "number" | "switch" | "span" | "profile";
  label: string;
  max?: number; // characters
  required?: boolean;
}

/** Form is a command as the server describes it: those of one form share its fields. */
export interface Form {
  name: string;
  form: string;
  title: string;
  confirm: string; // a field in braces is replaced
  fields: Field[];
}

/** enter takes a token, if it is the right one. */
export async function enter(text: string): Promise<void> {
  await look<Status>("status", text);
  token.set(text);
}

export const ask = {
  status: () => look<Status>("status"),
  vitals: () => look<Vitals>("vitals"),
  dead: () => look<Dead[]>("dead-letters"),
  bans: () => look<Ban[]>("bans"),
  sessions: (whom: string) => look<PlayerSession[]>(`sessions?whom=${encodeURIComponent(whom)}`),
  log: () => look<string[]>("log"),
  audit: () => look<Audited[]>("audit"),
  commands: () => look<Form[]>("commands"),
  give,
};
