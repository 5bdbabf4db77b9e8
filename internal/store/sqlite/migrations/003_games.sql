-- An update applies only if its version is newer. The variant is the Chess960
-- start position; classical boards have none.
ALTER TABLE boards ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE boards ADD COLUMN variant INTEGER CHECK (variant BETWEEN 0 AND 959);

ALTER TABLE reservations ADD COLUMN started_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE reservations ADD COLUMN reserved_for_white INTEGER NOT NULL DEFAULT 1 CHECK (reserved_for_white IN (0, 1));
CREATE INDEX idx_reservations_session_id ON reservations (session_id);

ALTER TABLE game_results ADD COLUMN move_count INTEGER NOT NULL DEFAULT 0;
ALTER TABLE game_results ADD COLUMN duration_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE game_results ADD COLUMN termination_reason TEXT NOT NULL DEFAULT '' CHECK (length(termination_reason) <= 31);

-- A board pays a session once.
ALTER TABLE payouts ADD COLUMN points_canonical REAL NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX idx_payouts_board_session ON payouts (board_id, session_id);
