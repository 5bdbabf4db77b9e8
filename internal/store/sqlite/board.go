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
