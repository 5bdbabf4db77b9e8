package postgres

import (
	"maps"
	"slices"
	"strings"

	"wamble/internal/store/schema"
)

// original has the tables and columns of the original's first migration, the only schema that is adopted in
// place: migrations 2 and later of ours are made for it.
var original = map[string]string{
	"players":      "id public_key rating created_at",
	"sessions":     "id token player_id trust_level created_at last_seen_at",
	"boards":       "id fen status last_assignment_time created_at updated_at",
	"moves":        "id board_id session_id move_uci move_number timestamp",
	"reservations": "board_id session_id expires_at",
	"game_results": "board_id winning_side finished_at",
	"payouts":      "id board_id session_id points_awarded created_at",
	"predictions":  "id board_id session_id predicted_move_uci status created_at",
}

// originalSteps has, for each later migration of the original, a column that only it makes. The original
// keeps no versions. Its migrations 003 and 014 to 015 of the global database have no column of the games, or
// only one of a table that another migration made; 005 to 009, 011 and 015 are those of the global database.
var originalSteps = []struct{ name, column string }{
	{"002", "reservations.started_at"},
	{"004", "sessions.total_score"},
	{"008", "sessions.global_identity_id"},
	{"010", "predictions.correct_streak"},
	{"011", "sessions.treatment_group_key"},
	{"012", "board_mode_variants.mode_variant_id"},
	{"013", "profile_terms_acceptances.id"},
	{"014", "payouts.points_canonical"},
	{"016", "board_last_move_shown_events.id"},
	{"017", "session_treatment_assignments.session_id"},
}

// SelectColumns reads the columns of the current schema as TABLE.COLUMN.
const SelectColumns = `SELECT coalesce(array_agg(table_name || '.' || column_name), '{}') FROM information_schema.columns
	WHERE table_schema = current_schema()`

// FromOriginal returns what these columns say about a database whose schema is of version 0, or was adopted
// and is not beyond version 2: nil if it is empty, or made by our migrations.
func FromOriginal(columns []string) *schema.Original {
	has := make(map[string]bool, len(columns))
	for _, c := range columns {
		has[c] = true
	}
	var o schema.Original
	tables := false
	for _, table := range slices.Sorted(maps.Keys(original)) {
		for _, c := range strings.Fields(original[table]) {
			tables = tables || has[table+"."+c]
			if !has[table+"."+c] {
				o.Lacking = append(o.Lacking, table+"."+c)
			}
		}
	}
	for _, s := range originalSteps {
		if has[s.column] {
			o.Steps = append(o.Steps, s.name)
		}
	}
	o.Foreign = !has["sessions.token"] || !has["boards.fen"] || !has["moves.move_uci"]
	if !tables {
		return nil
	}
	return &o
}
