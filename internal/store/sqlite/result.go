package sqlite

import (
	"math"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

func (t *tx) recordResults(run []intent.Intent) error {
	args := t.list(len(run), 6)
	for _, in := range schema.As[*intent.RecordGameResult](run) {
		args = append(args, int64(in.Board), in.Result.String(), schema.Micros(in.At), in.Plies,
			in.Duration.Microseconds(), in.Reason)
	}
	_, err := t.many(`INSERT INTO game_results (board_id, winning_side, finished_at, move_count, duration_us, termination_reason) VALUES $rows
		ON CONFLICT (board_id) DO UPDATE SET winning_side = excluded.winning_side, finished_at = excluded.finished_at, move_count = excluded.move_count,
			duration_us = excluded.duration_us, termination_reason = excluded.termination_reason
		WHERE excluded.finished_at > game_results.finished_at`, "(?,?,?,?,?,?)", args)
	return err
}

// recordPayouts adds to a session's score and season only together with a new row. It adds the
// sum of all rows once, because three leaderboard indexes depend on the score.
func (t *tx) recordPayouts(run []intent.Intent) error {
	payouts := schema.As[*intent.RecordPayout](run)
	players := schema.Distinct(len(payouts), func(i int) wamble.SessionID { return payouts[i].Session })
	if err := t.sessionsExist(intent.KindRecordPayout, players); err != nil {
		return err
	}
	sums := make(map[wamble.SessionID]float64, len(players))
	seasons := map[seasonOf]gain{}
	args := t.list(len(payouts), 5)
	for _, in := range payouts {
		points, at := fourPlaces(in.Points), schema.Micros(in.At)
		sums[in.Session] += points
		month := time.UnixMicro(at).UTC()
		of := seasonOf{in.Session, 100*month.Year() + int(month.Month())}
		seasons[of] = gain{seasons[of].points + points, seasons[of].games + 1}
		args = append(args, int64(in.Board), int64(in.Session), points, fourPlaces(in.Canonical), at)
	}
	n, err := t.many(`INSERT INTO payouts (board_id, session_id, points_awarded, points_canonical, created_at, counted) VALUES $rows ON CONFLICT DO NOTHING`,
		"(?,?,?,?,?,1)", args)
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
	if _, err = t.many(`UPDATE sessions SET total_score = round(total_score + v.column2, 4) FROM (VALUES $rows) v WHERE sessions.id = v.column1`, "(?,?)", args); err != nil {
		return err
	}
	args = t.list(len(seasons), 4)
	for of, g := range seasons {
		args = append(args, int64(of.session), of.season, g.points, g.games)
	}
	_, err = t.many(`INSERT INTO season_scores (who, season, score, games)
		SELECT ifnull(s.player_id, -s.id), v.column2, round(v.column3, 4), v.column4 FROM (VALUES $rows) v JOIN sessions s ON s.id = v.column1 WHERE true
		ON CONFLICT (who, season) DO UPDATE SET score = round(season_scores.score + excluded.score, 4), games = season_scores.games + excluded.games`, "(?,?,?,?)", args)
	return err
}

// seasonOf is a session and a season in UTC, such as 202611.
type seasonOf struct {
	session wamble.SessionID
	season  int
}

// gain is the sum of payouts in a season.
type gain struct {
	points float64
	games  int
}

// fourPlaces rounds to four decimals, the precision of the original's columns.
func fourPlaces(x float64) float64 { return math.Round(x*1e4) / 1e4 }
