package sqlite

import (
	"math"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

func (t *tx) recordResults(run []intent.Intent) error {
	args := t.list(len(run), 6)
	for _, in := range schema.As[*intent.RecordGameResult](run) {
		args = append(args, int64(in.Board), in.Result.String(), schema.Micros(in.At), in.Plies, in.Duration.Microseconds(), in.Reason)
	}
	_, err := t.many(`INSERT INTO game_results (board_id, winning_side, finished_at, move_count, duration_us, termination_reason) VALUES $rows
		ON CONFLICT (board_id) DO UPDATE SET winning_side = excluded.winning_side, finished_at = excluded.finished_at, move_count = excluded.move_count,
			duration_us = excluded.duration_us, termination_reason = excluded.termination_reason
		WHERE excluded.finished_at > game_results.finished_at`, "(?,?,?,?,?,?)", args)
	return err
}

// recordPayouts adds to a session's score only together with a new row, and once
// for all its rows: two leaderboards are sorted by it.
func (t *tx) recordPayouts(run []intent.Intent) error {
	payouts := schema.As[*intent.RecordPayout](run)
	players := schema.Distinct(len(payouts), func(i int) wamble.SessionID { return payouts[i].Session })
	if err := t.sessionsExist(intent.KindRecordPayout, players); err != nil {
		return err
	}
	sums := make(map[wamble.SessionID]float64, len(players))
	args := t.list(len(payouts), 5)
	for _, in := range payouts {
		points := fourPlaces(in.Points)
		sums[in.Session] += points
		args = append(args, int64(in.Board), int64(in.Session), points, fourPlaces(in.Canonical), schema.Micros(in.At))
	}
	n, err := t.many(`INSERT INTO payouts (board_id, session_id, points_awarded, points_canonical, created_at) VALUES $rows ON CONFLICT DO NOTHING`,
		"(?,?,?,?,?)", args)
	if err != nil {
		return err
	}
	before, err := t.short(n, len(payouts))
	if err != nil || before {
		return err
	}
	args = t.list(len(players), 2)
	for _, id := range players {
		args = append(args, int64(id), sums[id])
	}
	_, err = t.many(`UPDATE sessions SET total_score = round(total_score + v.column2, 4) FROM (VALUES $rows) v WHERE sessions.id = v.column1`, "(?,?)", args)
	return err
}

// fourPlaces rounds as the columns of the original do.
func fourPlaces(x float64) float64 { return math.Round(x*1e4) / 1e4 }
