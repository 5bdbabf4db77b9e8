package sqlite

import (
	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

// recordPredictions drops the parent of a prediction if the parent was deleted. Predictions
// with a parent are written one by one, because a statement does not see its own rows.
func (t *tx) recordPredictions(run []intent.Intent) error {
	const into = `INSERT INTO predictions (id, board_id, session_id, predicted_move_uci, move_number, correct_streak, created_at, parent_prediction_id) `
	args := t.list(len(run), 7)
	for _, in := range schema.As[*intent.RecordPrediction](run) {
		if in.Parent == 0 {
			args = append(args, int64(in.ID), int64(in.Board), int64(in.Session), in.UCI, in.Ply, in.Streak,
				schema.Micros(in.At))
		}
	}
	if _, err := t.many(into+`SELECT v.*, NULL FROM (VALUES $rows) v WHERE `+here("v.column3")+` ON CONFLICT DO NOTHING`, "(?,?,?,?,?,?,?)", args); err != nil {
		return err
	}
	return forEach(run, func(in *intent.RecordPrediction) error {
		if in.Parent == 0 {
			return nil
		}
		return t.do(into+`SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT id FROM predictions WHERE id = ?8) WHERE `+here("?3")+` ON CONFLICT DO NOTHING`,
			int64(in.ID), int64(in.Board), int64(in.Session), in.UCI, in.Ply, in.Streak, schema.Micros(in.At),
			int64(in.Parent))
	})
}

// resolvePredictions pays only pending predictions.
func (t *tx) resolvePredictions(run []intent.Intent) error {
	return forEach(run, func(in *intent.ResolvePrediction) error {
		n, err := t.exec(`UPDATE predictions SET status = ?, points_awarded = round(?, 4), resolved_at = ? WHERE id = ? AND session_id = ? AND status = 'PENDING'`,
			in.Status.String(), in.Points, schema.Micros(in.At), int64(in.ID), int64(in.Session))
		if err != nil || n == 0 || in.Points == 0 {
			return err
		}
		return t.do(`UPDATE sessions SET total_prediction_score = round(total_prediction_score + round(?, 4), 4) WHERE id = ?`, in.Points, int64(in.Session))
	})
}
