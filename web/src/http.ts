// Reading over HTTP, patiently: a server that is just starting, a network that
// has just changed and a connection that nobody hears any more are no errors yet.

const tries = 4;
const patience = 8_000; // ms for an answer: a connection may be dead without saying so
const longest = 5_000; // ms of a pause, whatever the server wishes
const later = new Set([429, 503]); // the server asks us to come back

const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

/** read is fetch for what may be asked twice. The last answer, or failure, is the one that counts. */
export async function read(path: string, init: RequestInit = {}): Promise<Response> {
  for (let i = 1; ; i++) {
    let wish = 250 * 2 ** i;
    try {
      const answer = await fetch(path, { ...init, signal: AbortSignal.timeout(patience) });
      if (i === tries || !later.has(answer.status)) return answer;
      wish = 1000 * Number(answer.headers.get("Retry-After")) || wish;
    } catch (e) {
      if (i === tries) throw e;
    }
    await pause(Math.min(longest, wish));
  }
}
