package sqlite

import (
	"encoding/json"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

func (t *tx) recordMoves(run []intent.Intent) error {
	moves := schema.As[*intent.RecordMove](run)
	players := schema.Distinct(len(moves), func(i int) wamble.SessionID { return moves[i].Session })
	if err := t.sessionsExist(intent.KindRecordMove, players); err != nil {
		return err
	}
	runs, ok := schema.MoveRuns(moves)
	if !ok {
		return errRepeat
	}
	before, err := t.overlap(runs)
	if err == nil && before && len(moves) > 1 {
		err = errRepeat // perhaps only some are stored
	}
	if err != nil {
		return err
	}
	if before {
		return t.sameMove(moves[0])
	}
	args := t.list(len(runs), 5)
	for _, r := range runs {
		args = append(args, int64(r.Board), r.First, r.Count, schema.Micros(r.Ended), r.Moves)
	}
	if _, err := t.many(`INSERT INTO move_runs (board_id, first_ply, plies, ended_at, moves) VALUES $rows`,
		"(?,?,?,?,?)", args); err != nil {
		return err
	}
	return t.countGames(moves)
}

// overlap reports whether a ply of some runs is stored already. For each board it checks the
// last stored run that begins before the end of the new one: runs do not overlap, so earlier
// ones end before it.
func (t *tx) overlap(runs []schema.MoveRun) (bool, error) {
	args := t.list(len(runs), 3)
	for _, r := range runs {
		args = append(args, int64(r.Board), r.First, r.First+r.Count)
	}
	n, err := t.count(`SELECT count(*) FROM (VALUES $rows) v WHERE (SELECT r.first_ply + r.plies FROM move_runs r
		WHERE r.board_id = v.column1 AND r.first_ply < v.column3 ORDER BY r.first_ply DESC LIMIT 1) > v.column2`, "(?,?,?)", args)
	return n > 0, err
}

// sameMove returns an error if another move is stored for the ply of in.
func (t *tx) sameMove(in *intent.RecordMove) error {
	var session int64
	var uci string
	err := t.scan(`SELECT session_id, move_uci FROM moves WHERE board_id = ? AND move_number = ?`,
		[]any{int64(in.Board), in.Ply}, &session, &uci)
	if err == nil && (session != int64(in.Session) || uci != in.UCI) {
		return schema.Badf("%v: ply %d of board %d is %s by session %d, not %s by session %d", in.Kind(), in.Ply,
			in.Board, uci, session, in.UCI, in.Session)
	}
	return err
}

// countGames counts the boards on which a session moves for the first time, and adds them to
// the session's trail.
func (t *tx) countGames(moves []*intent.RecordMove) error {
	var boards []wamble.BoardID // moves are grouped by board
	for _, in := range moves {
		if n := len(boards); in.First && (n == 0 || boards[n-1] != in.Board) {
			boards = append(boards, in.Board)
		}
	}
	chess960, err := t.chess960(boards)
	if err != nil {
		return err
	}
	type games struct {
		all, chess960 int64
		trail         []byte
	}
	counts := map[wamble.SessionID]games{}
	var sessions []wamble.SessionID
	for _, in := range schema.FirstMoves(moves) {
		g, known := counts[in.Session]
		if !known {
			sessions = append(sessions, in.Session)
		}
		if g.all++; chess960[in.Board] {
			g.chess960++
		}
		g.trail = schema.AppendTrail(g.trail, in.Board)
		counts[in.Session] = g
	}
	args := t.list(len(sessions), 5)
	for _, id := range sessions {
		g := counts[id]
		args = append(args, int64(id), g.all, g.chess960, g.trail, -schema.TrailBytes)
	}
	_, err = t.many(`UPDATE sessions SET games_played = games_played + v.column2, chess960_games_played = chess960_games_played + v.column3,
		trail = substr(CAST(trail || v.column4 AS BLOB), v.column5) FROM (VALUES $rows) v WHERE sessions.id = v.column1`, "(?,?,?,?,?)", args)
	return err
}

// chess960 returns which of the boards are Chess960.
func (t *tx) chess960(boards []wamble.BoardID) (map[wamble.BoardID]bool, error) {
	list, err := json.Marshal(boards)
	if err != nil || len(boards) == 0 {
		return nil, err
	}
	var found string
	err = t.scan(`SELECT ifnull(json_group_array(b.id), '[]') FROM json_each(?) j JOIN boards b ON b.id = j.value WHERE b.variant IS NOT NULL`,
		[]any{string(list)}, &found)
	if err != nil {
		return nil, err
	}
	var ids []wamble.BoardID
	if err := json.Unmarshal([]byte(found), &ids); err != nil {
		return nil, err
	}
	set := make(map[wamble.BoardID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set, nil
}

func (t *tx) recordShown(run []intent.Intent) error {
	args := t.list(len(run), 4)
	for _, in := range schema.As[*intent.RecordLastMoveShown](run) {
		args = append(args, int64(in.Session), int64(in.Board), in.UCI, schema.Micros(in.At))
	}
	_, err := t.many(`INSERT INTO board_last_move_shown_events (session_id, board_id, shown_uci, emitted_at)
		SELECT * FROM (VALUES $rows) v WHERE `+here("v.column1")+` ON CONFLICT DO NOTHING`, "(?,?,?,?)", args)
	return err
}
