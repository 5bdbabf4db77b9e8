// A bot that plays any legal move: node bot.mjs [ws://localhost:8888/ws/json] [moves]. Node 20 needs --experimental-websocket.
const [url = "ws://localhost:8888/ws/json", moves = 100] = process.argv.slice(2);
const any = (list) => list[Math.floor(Math.random() * list.length)];
const own = (fen) => { // the squares of whoever is to move; a1 is 0, h8 is 63
  const [rows, side] = fen.split(" ");
  const pieces = rows.split("/").reverse().join("").replace(/\d/g, (n) => ".".repeat(n));
  return [...pieces].flatMap((c, square) => (side === "w" ? /[A-Z]/ : /[a-z]/).test(c) ? [square] : []);
};
const ws = globalThis.WebSocket ? new WebSocket(url) : process.exit(console.error("Give it as: node --experimental-websocket bot.mjs") ?? 1), open = new Map(); // requests, and what to do with their answers
ws.onmessage = ({ data }) => {
  const answer = JSON.parse(data), request = open.get(answer.id);
  if (answer.payload?.reason?.startsWith("too many requests")) setTimeout(() => ws.send(request.text), 1000);
  else if (answer.ctrl === "ERROR") throw new Error(data);
  else if (answer.ctrl !== "ACK") request?.done(answer);
};
const ask = (ctrl, fields) => new Promise((done) => {
  const text = JSON.stringify({ id: open.size, ctrl, ...fields });
  open.set(open.size, { text, done });
  ws.send(text);
});
await new Promise((done) => ws.onopen = done);
for (let at = await ask("CLIENT_HELLO", { ext: { "hello.bot": 1 } }), n = 0; n < moves; n++) {
  let board_id = at.board_id, legal = [];
  while (!legal.length) legal = (await ask("GET_LEGAL_MOVES", { board_id, payload: { square: any(own(at.payload.fen)) } })).payload.moves;
  const { from, to, promotion } = any(legal), name = (s) => "abcdefgh"[s % 8] + (Math.floor(s / 8) + 1);
  const uci = name(from) + name(to) + (promotion ? String.fromCharCode(promotion) : "");
  at = await ask("PLAYER_MOVE", { board_id, payload: { uci } });
  console.log(`${uci} stays on board ${board_id}; here is board ${at.board_id}`);
}
ws.close();
