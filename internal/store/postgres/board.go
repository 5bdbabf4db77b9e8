package postgres

import (
	"time"

	"wamble/internal/intent"
	"wamble/internal/store"
	"wamble/internal/store/schema"
)

const theseBoards = `unnest($1::bigint[], $2::text[], $3::text[], $4::int[], $5::timestamptz[]) AS v(id, fen, status, variant, at)`

func createBoards(name string, run []intent.Intent) []statement {
	profile, shard := store.SplitName(name)
	n := len(run)
	ids, fens, states, variants, at := make([]int64, n), make([]string, n), make([]string, n), make([]int32, n),
		make([]time.Time, n)
	for i, in := range schema.As[*intent.CreateBoard](run) {
		ids[i], fens[i], states[i], variants[i], at[i] = int64(in.Board), in.FEN, in.Status.String(), int32(in.Variant),
			in.At
	}
	return []statement{{rows: n, args: []any{ids, fens, states, variants, at, profile, shard}, compare: []any{ids, fens, states, variants, at, profile}, sql: `
		INSERT INTO boards (id, fen, status, profile, variant, created_at, updated_at, shard)
		SELECT id, fen, status, $6::text, NULLIF(variant, -1), at, at, $7::int FROM ` + theseBoards + ` ON CONFLICT (id) DO NOTHING`,
		verify: `SELECT format('CREATE_BOARD: board %s belongs to another profile', v.id)
		FROM ` + theseBoards + ` JOIN boards b ON b.id = v.id AND b.profile <> $6::text LIMIT 1`}}
}

const theseChanges = `unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[], $5::timestamptz[]) AS v(id, fen, status, version, assigned)`

// changeBoards writes positions that are newer than the stored ones, and times of assignment.
func changeBoards(_ string, run []intent.Intent) []statement {
	changes := schema.BoardChanges(run)
	n := len(changes)
	ids, fens, states, versions, assigned := make([]int64, n), make([]string, n), make([]string, n), make([]int64, n),
		make([]*time.Time, n)
	for i, c := range changes {
		ids[i], fens[i], states[i], versions[i] = int64(c.Board), c.FEN, c.Status.String(), c.Version
		if !c.Assigned.IsZero() {
			assigned[i] = &changes[i].Assigned
		}
	}
	return []statement{{rows: n, args: []any{ids, fens, states, versions, assigned}, sql: `
		UPDATE boards b SET fen = CASE WHEN b.version < v.version THEN v.fen ELSE b.fen END, status = CASE WHEN b.version < v.version THEN v.status ELSE b.status END,
			version = greatest(b.version, v.version), last_assignment_time = greatest(b.last_assignment_time, v.assigned)
		FROM ` + theseChanges + ` WHERE b.id = v.id`,
		verify: `SELECT format('` + run[0].Kind().String() + `: there is no board %s', v.id)
		FROM ` + theseChanges + ` WHERE NOT EXISTS (SELECT FROM boards b WHERE b.id = v.id) LIMIT 1`}}
}
