package sqlite

import (
	"wamble/internal/intent"
	"wamble/internal/store/schema"
)

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
