-- A row costs far more than what is in it. So moves are kept in runs: those of a
-- board, ply after ply, that came in one transaction, up to 32 of them. The writer
-- sees to it that no ply is in two runs. An older program cannot write them.
CREATE TABLE move_runs (
    board_id BIGINT NOT NULL,
    first_ply INTEGER NOT NULL,
    plies INTEGER NOT NULL CHECK (plies > 0),
    ended_at TIMESTAMPTZ NOT NULL, -- the latest move
    moves JSON NOT NULL, -- [[session, move, microseconds before ended_at], …]
    PRIMARY KEY (board_id, first_ply)
);

INSERT INTO move_runs (board_id, first_ply, plies, ended_at, moves)
    SELECT board_id, min(move_number), count(*), ended,
        json_agg(json_build_array(session_id, move_uci, (extract(epoch FROM ended - timestamp) * 1000000)::bigint) ORDER BY move_number)
    FROM (SELECT *, max(timestamp) OVER (PARTITION BY board_id, island, part) AS ended
        FROM (SELECT *, (row_number() OVER (PARTITION BY board_id, island ORDER BY move_number) - 1) / 32 AS part
            FROM (SELECT *, move_number - row_number() OVER (PARTITION BY board_id ORDER BY move_number) AS island FROM moves) i) p) e
    GROUP BY board_id, island, part, ended;
DROP TABLE moves;

CREATE VIEW moves AS
    SELECT (r.board_id << 20) + r.first_ply + (m.n - 1) AS id, r.board_id, (m.move ->> 0)::bigint AS session_id, (m.move ->> 1)::varchar(6) AS move_uci,
        r.first_ply + (m.n - 1)::integer AS move_number, r.ended_at - (m.move ->> 2)::bigint * interval '1 microsecond' AS timestamp
    FROM move_runs r CROSS JOIN LATERAL json_array_elements(r.moves) WITH ORDINALITY AS m(move, n);
