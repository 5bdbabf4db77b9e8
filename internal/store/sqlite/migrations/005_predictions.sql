ALTER TABLE predictions ADD COLUMN move_number INTEGER NOT NULL DEFAULT 0;
ALTER TABLE predictions ADD COLUMN parent_prediction_id INTEGER REFERENCES predictions(id) ON DELETE SET NULL;
ALTER TABLE predictions ADD COLUMN correct_streak INTEGER NOT NULL DEFAULT 0;
ALTER TABLE predictions ADD COLUMN points_awarded REAL NOT NULL DEFAULT 0;
ALTER TABLE predictions ADD COLUMN resolved_at INTEGER;
CREATE INDEX idx_predictions_board_pending ON predictions (board_id) WHERE status = 'PENDING';
CREATE INDEX idx_predictions_session ON predictions (session_id);
CREATE INDEX idx_predictions_parent ON predictions (parent_prediction_id) WHERE parent_prediction_id IS NOT NULL;
