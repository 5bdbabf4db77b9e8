package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

func (t *tx) recordPredictions(run []intent.Intent) error {
	args := t.list(len(run), 8)
	for _, in := range schema.As[*intent.RecordPrediction](run) {
		args = append(args, int64(in.ID), int64(in.Board), int64(in.Session), nullable(int64(in.Parent)), in.UCI, in.Ply, in.Streak, schema.Micros(in.At))
	}
	_, err := t.many(`INSERT INTO predictions (id, board_id, session_id, parent_prediction_id, predicted_move_uci, move_number, correct_streak, created_at)
		VALUES $rows ON CONFLICT DO NOTHING`, "(?,?,?,?,?,?,?,?)", args)
	return err
}

// resolvePredictions pays only what was pending.
func (t *tx) resolvePredictions(run []intent.Intent) error {
	for _, in := range schema.As[*intent.ResolvePrediction](run) {
		n, err := t.exec(`UPDATE predictions SET status = ?, points_awarded = round(?, 4), resolved_at = ? WHERE id = ? AND session_id = ? AND status = 'PENDING'`,
			in.Status.String(), in.Points, schema.Micros(in.At), int64(in.ID), int64(in.Session))
		if err != nil {
			return err
		}
		if n == 0 || in.Points == 0 {
			continue
		}
		_, err = t.exec(`UPDATE sessions SET total_prediction_score = round(total_prediction_score + round(?, 4), 4) WHERE id = ?`, in.Points, int64(in.Session))
		if err != nil {
			return err
		}
	}
	return nil
}

// Predictions implements store.Queries.
func (s *Store) Predictions(ctx context.Context, boards ...wamble.BoardID) ([]wamble.Prediction, error) {
	list, err := json.Marshal(boards)
	if err != nil {
		return nil, err
	}
	rows, err := s.readers.QueryContext(ctx, `WITH RECURSIVE
		up(id, parent) AS (
			SELECT id, parent_prediction_id FROM predictions WHERE board_id IN (SELECT value FROM json_each(?)) AND status = 'PENDING'
			UNION SELECT p.id, p.parent_prediction_id FROM up JOIN predictions p ON p.id = up.parent),
		down(id, depth) AS (
			SELECT id, 0 FROM up WHERE parent IS NULL
			UNION ALL SELECT up.id, down.depth + 1 FROM down JOIN up ON up.parent = down.id)
		SELECT p.id, p.board_id, p.session_id, s.token, ifnull(p.parent_prediction_id, 0), p.predicted_move_uci, p.move_number, d.depth,
			p.correct_streak, p.status, p.points_awarded, p.created_at
		FROM down d JOIN predictions p ON p.id = d.id JOIN sessions s ON s.id = p.session_id ORDER BY d.depth, p.id`, string(list))
	if err != nil {
		return nil, sorted(ctx, "read predictions", err)
	}
	defer rows.Close()
	var all []wamble.Prediction
	for rows.Next() {
		p, err := scanPrediction(rows)
		if err != nil {
			return nil, sorted(ctx, "read predictions", err)
		}
		all = append(all, p)
	}
	return all, sorted(ctx, "read predictions", rows.Err())
}

func scanPrediction(rows *sql.Rows) (wamble.Prediction, error) {
	var p wamble.Prediction
	var token []byte
	var status string
	var at int64
	err := rows.Scan(&p.ID, &p.Board, &p.Session, &token, &p.Parent, &p.UCI, &p.Ply, &p.Depth, &p.Streak, &status, &p.Points, &at)
	if err != nil {
		return p, err
	}
	if p.Status, err = wamble.ParsePredictionStatus(status); err != nil {
		return p, schema.Badf("prediction %d: %v", p.ID, err)
	}
	copy(p.Token[:], token)
	p.At = schema.Time(at)
	return p, nil
}
