package sqlite

import (
	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

func (t *tx) createBoards(run []intent.Intent) error {
	args := t.list(len(run), 8)
	boards := schema.As[*intent.CreateBoard](run)
	for _, in := range boards {
		var variant any
		if in.Variant >= 0 {
			variant = int64(in.Variant)
		}
		at := schema.Micros(in.At)
		args = append(args, int64(in.Board), in.FEN, in.Status.String(), t.profile, variant, at, at, t.shard)
	}
	n, err := t.many(`INSERT INTO boards (id, fen, status, profile, variant, created_at, updated_at, shard) VALUES $rows ON CONFLICT DO NOTHING`, "(?,?,?,?,?,?,?,?)", args)
	if err != nil {
		return err
	}
	before, err := t.short(n, len(boards))
	if err != nil || !before {
		return err
	}
	ok, err := t.exists(`SELECT 1 FROM boards WHERE id = ? AND profile = ?`, int64(boards[0].Board), t.profile)
	if err == nil && !ok {
		return schema.Badf("%v: board %d belongs to another profile", intent.KindCreateBoard, boards[0].Board)
	}
	return err
}

// changeBoards writes positions that are newer than the stored ones, and times of assignment.
func (t *tx) changeBoards(run []intent.Intent) error {
	changes := schema.BoardChanges(run)
	args := t.list(len(changes), 6)
	for _, c := range changes {
		assigned := int64(0)
		if !c.Assigned.IsZero() {
			assigned = schema.Micros(c.Assigned)
		}
		args = append(args, int64(c.Board), c.FEN, c.Status.String(), c.Version, assigned, schema.Micros(c.At))
	}
	n, err := t.many(`UPDATE boards SET fen = iif(version < v.column4, v.column2, fen), status = iif(version < v.column4, v.column3, status),
		version = max(version, v.column4), last_assignment_time = nullif(max(ifnull(last_assignment_time, 0), v.column5), 0), updated_at = max(updated_at, v.column6)
		FROM (VALUES $rows) v WHERE boards.id = v.column1`, "(?,?,?,?,?,?)", args)
	if err != nil {
		return err
	}
	gone, err := t.short(n, len(changes))
	if err == nil && gone {
		err = schema.Badf("%v: there is no board %d", run[0].Kind(), changes[0].Board)
	}
	return err
}

// createReservations keeps a newer reservation: a late copy never takes a board from a later
// holder.
func (t *tx) createReservations(run []intent.Intent) error {
	args := t.list(len(run), 5)
	for _, in := range schema.As[*intent.CreateReservation](run) {
		args = append(args, int64(in.Board), int64(in.Session), in.White, schema.Micros(in.At),
			schema.Micros(in.Expires))
	}
	_, err := t.many(`INSERT INTO reservations (board_id, session_id, reserved_for_white, started_at, expires_at)
		SELECT * FROM (VALUES $rows) v WHERE `+here("v.column2")+`
		ON CONFLICT (board_id) DO UPDATE SET session_id = excluded.session_id, reserved_for_white = excluded.reserved_for_white,
			started_at = excluded.started_at, expires_at = excluded.expires_at
		WHERE excluded.started_at >= reservations.started_at`, "(?,?,?,?,?)", args)
	return err
}

func (t *tx) removeReservations(run []intent.Intent) error {
	args := t.list(len(run), 2)
	for _, in := range schema.As[*intent.RemoveReservation](run) {
		args = append(args, int64(in.Board), schema.Micros(in.At))
	}
	_, err := t.many(`DELETE FROM reservations WHERE board_id IN
		(SELECT r.board_id FROM (VALUES $rows) v JOIN reservations r ON r.board_id = v.column1 AND r.started_at <= v.column2)`, "(?,?)", args)
	return err
}
