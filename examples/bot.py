#!/usr/bin/env python3
"""A bot that plays any legal move: bot.py [ws://localhost:8888/ws/json] [moves]"""
import asyncio, json, random, sys
try: import websockets
except ImportError: sys.exit("Python has no websockets here: apt install python3-websockets, or pip install websockets")
def own(fen):  # the squares of whoever is to move; a1 is 0, h8 is 63
    rows, side = fen.split()[:2]
    pieces = "".join("." * int(c) if c.isdigit() else c for row in rows.split("/")[::-1] for c in row)
    return [square for square, c in enumerate(pieces) if c.isalpha() and c.isupper() == (side == "w")]

async def ask(ws, ctrl, **fields):  # returns the answer: what has our id, and is no ACK
    await ws.send(json.dumps(request := {"id": random.getrandbits(32), "ctrl": ctrl, **fields}))
    async for answer in (json.loads(text) async for text in ws):
        if "too many requests" in answer.get("payload", {}).get("reason", ""):
            return await asyncio.sleep(1) or await ask(ws, ctrl, **fields)
        if answer.get("id") == request["id"] and answer["ctrl"] != "ACK":
            return answer if answer["ctrl"] != "ERROR" else sys.exit(answer)

async def play(url="ws://localhost:8888/ws/json", moves=100):
    async with websockets.connect(url) as ws:
        at = await ask(ws, "CLIENT_HELLO", ext={"hello.bot": 1})
        for _ in range(int(moves)):
            board, legal, pieces = at["board_id"], [], own(at["payload"]["fen"])
            while not legal:
                legal = (await ask(ws, "GET_LEGAL_MOVES", board_id=board, payload={"square": random.choice(pieces)}))["payload"]["moves"]
            move = random.choice(legal)
            uci = "".join("abcdefgh"[s % 8] + str(s // 8 + 1) for s in (move["from"], move["to"])) + chr(move["promotion"]).strip("\0")
            at = await ask(ws, "PLAYER_MOVE", board_id=board, payload={"uci": uci})
            print(f"{uci} stays on board {board}; here is board {at['board_id']}", flush=True)
asyncio.run(play(*sys.argv[1:]))
