-- Moves and payouts are nearly all of what is written, so each is a row in as
-- few trees as it is read by. Nobody asks for the moves of a session, or for a
-- payout by a number of its own. Whether a session exists is checked by the
-- writer, once for all its rows of a batch.
CREATE TABLE lean_moves (
    board_id INTEGER NOT NULL REFERENCES boards(id),
    session_id INTEGER NOT NULL, -- of sessions
    move_uci TEXT NOT NULL CHECK (length(move_uci) <= 6),
    move_number INTEGER NOT NULL, -- by ply
    timestamp INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1e6 AS INTEGER)),
    PRIMARY KEY (board_id, move_number)
) STRICT, WITHOUT ROWID;
INSERT INTO lean_moves (board_id, session_id, move_uci, move_number, timestamp)
    SELECT board_id, session_id, move_uci, move_number, timestamp FROM moves;
DROP TABLE moves;
ALTER TABLE lean_moves RENAME TO moves;

CREATE TABLE lean_payouts (
    board_id INTEGER NOT NULL REFERENCES boards(id),
    session_id INTEGER NOT NULL, -- of sessions
    points_awarded REAL NOT NULL,
    points_canonical REAL NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1e6 AS INTEGER)),
    PRIMARY KEY (board_id, session_id)
) STRICT, WITHOUT ROWID;
INSERT INTO lean_payouts (board_id, session_id, points_awarded, points_canonical, created_at)
    SELECT board_id, session_id, points_awarded, points_canonical, created_at FROM payouts;
DROP TABLE payouts;
ALTER TABLE lean_payouts RENAME TO payouts;
CREATE INDEX idx_payouts_session_id ON payouts (session_id);
