// A board as the server shows it.

import { Flag, type Int, type Packet } from "../wire";

export interface Board {
  id: Int;
  fen: string;
  chess960: boolean;
  version: number;
  lastMove: [from: number, to: number] | null;
}

/** boardOf reads a packet with a board: SERVER_HELLO, BOARD_UPDATE, LOGIN_SUCCESS, SPECTATE_UPDATE. */
export function boardOf(p: Packet): Board {
  const short = (p.message?.body as { fen?: string }).fen ?? "";
  const from = p.ext.int("last_move.from");
  const to = p.ext.int("last_move.to");
  return {
    id: p.board,
    fen: p.ext.text("board.fen") ?? short,
    chess960: (p.flags & Flag.BOARD_IS_960) !== 0,
    version: p.ext.int("board.version") ?? 0,
    lastMove: from !== undefined && to !== undefined ? [from, to] : null,
  };
}
