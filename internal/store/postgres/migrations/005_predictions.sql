ALTER TABLE predictions
    ADD COLUMN move_number INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN parent_prediction_id BIGINT REFERENCES predictions(id) ON DELETE SET NULL,
    ADD COLUMN correct_streak INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN points_awarded DECIMAL(10,4) NOT NULL DEFAULT 0,
    ADD COLUMN resolved_at TIMESTAMPTZ;
CREATE INDEX idx_predictions_board_pending ON predictions (board_id) WHERE status = 'PENDING';
CREATE INDEX idx_predictions_session ON predictions (session_id);
CREATE INDEX idx_predictions_parent ON predictions (parent_prediction_id) WHERE parent_prediction_id IS NOT NULL;
