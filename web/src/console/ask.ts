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
export const random = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

async function give<T>(command: string, args: unknown, key = random()): Promise<T> {
  const headers = { "Content-Type": "application/json", Authorization: `Bearer ${token.value}`, "Idempotency-Key": key };
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
  shards?: Shard[];
}

/** Shard is one of several loops of a profile. */
export interface Shard {
  ready: boolean;
  stage: string;
  open: boolean;
  away?: boolean; // it is not on this machine
  boards: number;
  sessions: number;
  sessions_present: number;
  moves: number;
  queue_depth: number;
  queue_age: number;
}

export interface Status {
  pid: number;
  uptime: number;
  data: string;
  journal: { state: string; durability: string; dead_letters: number };
  draining?: boolean;
  profiles: Profile[];
  last_reload?: { error?: string; changes: string[] };
  last_handoff?: Handoff;
}

/** Handoff is how the process came to its binary. */
export interface Handoff {
  at: string;
  from: string;
  to: string;
  failure?: string;
  frozen: number; // s for which nothing was read
}

/** Columns are points over time, of all profiles together. */
export interface Columns {
  every: number; // s
  at: number[]; // s since 1970
  moves: number[];
  ended: number[];
  players: number[];
  boards: number[];
  lag: number[];
  memory: number[];
}

export interface FoundBoard {
  profile: string;
  board: number;
  status: string;
  plies: number;
  holder?: number;
  handle?: string;
  moved?: string;
  fen: string;
}

/** Vitals are the counters of a moment; charts are made of their differences. */
export interface Vitals {
  at: number; // ms
  bounds: number[]; // of the latency, in seconds
  profiles: { name: string; moves: number; latency: number[]; queue: number }[];
}

/** Cluster is all machines that share the world. */
export interface Cluster {
  nodes: MachineStatus[];
  free?: number[];
}

export interface MachineStatus {
  name: string;
  self?: boolean;
  address?: string;
  error?: string;
  lost?: string; // since when
  ready: boolean;
  version?: string;
  parts: number[] | null;
  players: number;
  moves: number;
  queue_age: number;
  dead_letters: number;
}

export interface Dead {
  part?: number;
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
  by?: string;
}

/** Announced is an announcement that stays. */
export interface Announced {
  profile?: string; // none: all
  text: string;
  until: string;
  by?: string;
  at?: string;
}

/** PlayerSession is a session of a player, with where it is now. */
export interface PlayerSession {
  profile: string;
  session: number;
  created: string;
  lastSeen: string;
  trust: number;
  address?: string;
}

/** Person is a player, or a guest, who has no name and no key. */
export interface Person {
  database: string;
  name?: string;
  public_key?: string;
  session?: number;
  score: number;
  rating?: number;
  games: number;
  created: string;
  last_seen: string;
  here: { profile: string; session: number; address?: string; board?: number }[];
}

export interface People {
  people: Person[];
  more: boolean;
}

/** Dossier is what a database knows of a person. */
export interface Dossier extends Person {
  renamed?: string;
  former_names: { name: string; until: string }[];
  rank?: number;
  ranked?: number;
  sessions: PlayerSession[];
  holds: number[];
  boards: { board: number; profile: string; status: string; at: string }[];
  bans: Ban[];
  more: boolean;
}

/** Audited is a line of the audit log. */
export interface Audited {
  at: string;
  from: string;
  verb: string;
  args?: unknown;
  error?: string;
}

/** Setting is an option that the server runs with, and where its value comes from. */
export interface Setting {
  option: string;
  value: unknown; // null: unset, or hidden
  hidden?: boolean;
  unit?: string;
  from: string;
  profile?: string; // of a base profile
  file?: string;
  line?: number;
}

/** DryRun is what a reload would do. */
export interface DryRun {
  changes: { profile?: string; what: string; old: string; new: string; effect: string }[];
  profiles: string[];
  refused: string[];
}

export interface Config {
  file: string;
  server: Setting[];
  profiles: { name: string; inherits?: string; store: string; options: Setting[] }[];
  reload?: DryRun;
  mistake?: string;
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
  players: (query: string) => look<People>(`players?query=${encodeURIComponent(query)}`),
  player: (whom: string) => look<Dossier[]>(`player?whom=${encodeURIComponent(whom)}`),
  history: (range: string) => look<Columns>(`history?range=${range}`),
  boards: (query: string) => look<FoundBoard[]>(`boards?query=${encodeURIComponent(query)}`),
  commands: () => look<Form[]>("commands"),
  give,
};
