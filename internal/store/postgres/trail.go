package postgres

import (
	"context"

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
	if out.Boards, err = s.boards(ctx, `WHERE b.id = ANY($1::bigint[])`, ids); err != nil {
		return wamble.Trail{}, err
	}
	sessions := make([]int64, len(out.Sessions))
	for i, one := range out.Sessions {
		sessions[i] = int64(one)
	}
	out.Paid, err = readAll(ctx, s, "read payouts", `SELECT board_id, sum(points_awarded)::float8 FROM payouts
		WHERE board_id = ANY($1::bigint[]) AND session_id = ANY($2::bigint[]) GROUP BY board_id`, []any{ids, sessions}, schema.ScanPoints)
	if err != nil {
		return wamble.Trail{}, err
	}
	return out, nil
}
