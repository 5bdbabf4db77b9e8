package sqlite

import (
	"context"
	"encoding/json"

	"wamble"
	"wamble/internal/store/schema"
)

// Trail implements store.Queries.
func (s *Store) Trail(ctx context.Context, id wamble.SessionID) (wamble.Trail, error) {
	rows, err := readAll(ctx, s, "read trail", schema.SelectTrails, schema.TrailArgs(id), schema.ScanTrail)
	if err != nil {
		return wamble.Trail{}, err
	}
	out, ids := schema.MergeTrails(id, rows)
	if len(ids) == 0 {
		return out, nil
	}
	boards, err := json.Marshal(ids)
	if err != nil {
		return wamble.Trail{}, err
	}
	sessions, err := json.Marshal(out.Sessions)
	if err != nil {
		return wamble.Trail{}, err
	}
	if out.Boards, err = s.boards(ctx, `WHERE b.id IN (SELECT value FROM json_each(?))`, string(boards)); err != nil {
		return wamble.Trail{}, err
	}
	out.Paid, err = readAll(ctx, s, "read payouts", `SELECT y.board_id, round(sum(y.points_awarded), 4) FROM json_each(?1) b CROSS JOIN json_each(?2) s
		JOIN payouts y ON y.board_id = b.value AND y.session_id = s.value GROUP BY y.board_id`, []any{string(boards), string(sessions)}, schema.ScanPoints)
	if err != nil {
		return wamble.Trail{}, err
	}
	return out, nil
}
