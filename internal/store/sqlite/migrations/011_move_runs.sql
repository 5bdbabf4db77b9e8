-- A row costs far more than what is in it. So moves are kept in runs: those of a
-- board, ply after ply, that came in one transaction, up to 32 of them. The writer
-- sees to it that no ply is in two runs. An older program cannot write them.
CREATE TABLE move_runs (
    board_id INTEGER NOT NULL REFERENCES boards(id),
    first_ply INTEGER NOT NULL,
    plies INTEGER NOT NULL CHECK (plies > 0),
    ended_at INTEGER NOT NULL, -- the latest move
    moves TEXT NOT NULL, -- JSON: [[session, move, microseconds before ended_at], …]
    PRIMARY KEY (board_id, first_ply)
) STRICT, WITHOUT ROWID;

INSERT INTO move_runs (board_id, first_ply, plies, ended_at, moves)
    SELECT board_id, min(move_number), count(*), ended, json_group_array(json_array(session_id, move_uci, ended - timestamp) ORDER BY move_number)
    FROM (SELECT *, max(timestamp) OVER (PARTITION BY board_id, island, part) AS ended
        FROM (SELECT *, (row_number() OVER (PARTITION BY board_id, island ORDER BY move_number) - 1) / 32 AS part
            FROM (SELECT *, move_number - row_number() OVER (PARTITION BY board_id ORDER BY move_number) AS island FROM moves)))
    GROUP BY board_id, island, part;
DROP TABLE moves;

CREATE VIEW moves AS
    SELECT CAST((r.board_id << 20) + r.first_ply + m.key AS INTEGER) AS id, r.board_id, CAST(m.value ->> 0 AS INTEGER) AS session_id,
        CAST(m.value ->> 1 AS TEXT) AS move_uci, CAST(r.first_ply + m.key AS INTEGER) AS move_number,
        CAST(r.ended_at - (m.value ->> 2) AS INTEGER) AS timestamp
    FROM move_runs r, json_each(r.moves) m;
