-- A row's time is always known. Older rows may lack it.
UPDATE boards SET created_at = coalesce(created_at, updated_at, NOW()), updated_at = coalesce(updated_at, NOW())
    WHERE created_at IS NULL OR updated_at IS NULL;
UPDATE sessions SET created_at = coalesce(created_at, last_seen_at, NOW()), last_seen_at = coalesce(last_seen_at, created_at, NOW())
    WHERE created_at IS NULL OR last_seen_at IS NULL;
UPDATE players SET created_at = NOW() WHERE created_at IS NULL;
UPDATE moves SET timestamp = NOW() WHERE timestamp IS NULL;
UPDATE game_results SET finished_at = NOW() WHERE finished_at IS NULL;
UPDATE payouts SET created_at = NOW() WHERE created_at IS NULL;
UPDATE predictions SET created_at = NOW() WHERE created_at IS NULL;
ALTER TABLE boards ALTER COLUMN created_at SET NOT NULL, ALTER COLUMN updated_at SET NOT NULL;
ALTER TABLE sessions ALTER COLUMN created_at SET NOT NULL, ALTER COLUMN last_seen_at SET NOT NULL;
ALTER TABLE players ALTER COLUMN created_at SET NOT NULL;
ALTER TABLE moves ALTER COLUMN timestamp SET NOT NULL;
ALTER TABLE game_results ALTER COLUMN finished_at SET NOT NULL;
ALTER TABLE payouts ALTER COLUMN created_at SET NOT NULL;
ALTER TABLE predictions ALTER COLUMN created_at SET NOT NULL;

-- An update applies only if its version is newer. The variant is the Chess960
-- start position; classical boards have none.
ALTER TABLE boards
    ADD COLUMN version BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN variant SMALLINT CHECK (variant BETWEEN 0 AND 959);

-- Moves are numbered by ply. The original stored the full-move number after
-- the move (1, 2, 2, 3, 3 …), so two moves of a board share one. It also sorted
-- the moves of a flush by token, so within a board the number comes before the
-- time and the time before the id.
UPDATE moves m SET move_number = n.ply
    FROM (SELECT id, row_number() OVER (PARTITION BY board_id ORDER BY move_number, timestamp, id) AS ply FROM moves) n
    WHERE m.id = n.id AND m.move_number <> n.ply;
CREATE UNIQUE INDEX idx_moves_board_ply ON moves (board_id, move_number);
-- It answers what these were for, and every index is written with every move.
DROP INDEX IF EXISTS idx_moves_board_id, idx_moves_board_session;

ALTER TABLE reservations
    ADD COLUMN started_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
    ADD COLUMN reserved_for_white BOOLEAN;
UPDATE reservations r SET reserved_for_white = split_part(b.fen, ' ', 2) <> 'b' FROM boards b WHERE b.id = r.board_id;
ALTER TABLE reservations ALTER COLUMN reserved_for_white SET NOT NULL;
CREATE INDEX idx_reservations_session_id ON reservations (session_id);

ALTER TABLE game_results
    ADD COLUMN move_count INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN duration_us BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN termination_reason VARCHAR(31) NOT NULL DEFAULT '';
UPDATE game_results g SET move_count = coalesce((SELECT max(m.move_number) FROM moves m WHERE m.board_id = g.board_id), 0);

-- A board pays a session once. Rows that the original wrote twice are folded
-- into the first, so that the session's sum stays.
ALTER TABLE payouts ADD COLUMN points_canonical DECIMAL(10,4) NOT NULL DEFAULT 0;
UPDATE payouts p SET points_awarded = s.points
    FROM (SELECT min(id) AS id, sum(points_awarded) AS points FROM payouts GROUP BY board_id, session_id HAVING count(*) > 1) s
    WHERE p.id = s.id;
DELETE FROM payouts p USING payouts q WHERE q.board_id = p.board_id AND q.session_id = p.session_id AND q.id < p.id;
UPDATE payouts SET points_canonical = points_awarded;
CREATE UNIQUE INDEX idx_payouts_board_session ON payouts (board_id, session_id);
