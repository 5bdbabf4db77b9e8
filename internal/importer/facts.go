package importer

import "strings"

// fact is something that the original keeps in some states of its schema.
type fact struct {
	name    string // in queries: {name}
	columns string // of the original, TABLE.COLUMN; a state that lacks one of them lacks the fact
	sql     string // how it is read
	absent  string // what is read where it is lacking
	ours    string // how our stores keep it; "" if it only helps to read
}

// facts is the one table of what is read. Sessions are s, players p, boards b, moves m, payouts y, predictions
// r, results g, reservations h, variants v and acceptances of terms a.
var facts = []fact{
	{"with players", "players.public_key sessions.player_id", "LEFT JOIN players p ON p.id = s.player_id", "", ""},
	{"key", "players.public_key sessions.player_id", "p.public_key", "NULL::bytea", "players.public_key"},
	{"identity", "sessions.global_identity_id", "coalesce(s.global_identity_id, 0)", "0", ""},
	{"rating", "players.rating", "p.rating::float8", "0::float8", "players.rating"},
	{"player since", "players.created_at", "p.created_at", "NULL::timestamptz", "players.created_at"},
	{"trust", "sessions.trust_level", "coalesce(s.trust_level, 0)", "0", "sessions.trust_level"},
	{"session since", "sessions.created_at", "s.created_at", "NULL::timestamptz", "sessions.created_at"},
	{"seen", "sessions.last_seen_at", "s.last_seen_at", "NULL::timestamptz", "sessions.last_seen_at"},

	{"board since", "boards.created_at", "b.created_at", "NULL::timestamptz", "boards.created_at"},
	{"assigned", "boards.last_assignment_time", "b.last_assignment_time", "NULL::timestamptz", "boards.last_assignment_time"},
	{"with variants", "board_mode_variants.mode_variant_id", "LEFT JOIN board_mode_variants v ON v.board_id = b.id", "", ""},
	{"variant", "board_mode_variants.mode_variant_id", "coalesce(v.mode_variant_id, -1)", "-1", "boards.variant"},
	{"with results", "game_results.winning_side", "LEFT JOIN game_results g ON g.board_id = b.id", "", ""},
	{"side", "game_results.winning_side", "coalesce(g.winning_side::text, '')", "''", "game_results.winning_side"},
	{"finished", "game_results.finished_at", "g.finished_at", "NULL::timestamptz", "game_results.finished_at"},
	{"reason", "game_results.termination_reason", "coalesce(g.termination_reason, '')", "''", "game_results.termination_reason"},
	{"seconds", "game_results.duration_seconds", "coalesce(g.duration_seconds, 0)", "0", "game_results.duration_us"},

	// Two moves of a board have the same number: Black's, and White's next one.
	{"number", "moves.move_number", "m.move_number", "row_number() OVER (PARTITION BY m.board_id ORDER BY m.id)::int", "move_runs.first_ply"},
	{"moved", "moves.timestamp", "m.timestamp", "NULL::timestamptz", "move_runs.moves"},

	{"held", "reservations.session_id", `SELECT DISTINCT ON (h.session_id) h.board_id, h.session_id, h.expires_at, {held since} FROM reservations h
		WHERE h.expires_at > now() ORDER BY h.session_id, h.expires_at DESC, h.board_id DESC`, "", "reservations"},
	{"held since", "reservations.started_at", "h.started_at", "NULL::timestamptz", "reservations.started_at"},

	{"payouts", "payouts.points_awarded", `SELECT y.board_id, y.session_id, sum(y.points_awarded)::float8, sum({canonical})::float8, min(y.created_at)
		FROM payouts y WHERE y.board_id = ANY($1) GROUP BY 1, 2 ORDER BY 1, 2`, "", "payouts, one for each session of a board"},
	{"canonical", "payouts.points_canonical", "y.points_canonical", "y.points_awarded", "payouts.points_canonical"},

	{"predictions", "predictions.move_number", `SELECT r.id, r.board_id, r.session_id, r.predicted_move_uci, r.status, coalesce(r.move_number, 0),
		coalesce(r.parent_prediction_id, 0), coalesce(r.correct_streak, 0), coalesce(r.points_awarded, 0)::float8, r.created_at, r.resolved_at
		FROM predictions r WHERE r.id > $1 ORDER BY r.id LIMIT $2`, "", "predictions"},
	{"terms", "profile_terms_acceptances.tos_hash", `SELECT a.session_id, a.profile_name, a.tos_hash, coalesce(a.tos_text, ''), a.accepted_at
		FROM profile_terms_acceptances a WHERE a.session_id = ANY($1) ORDER BY 1, 2, 3`, "", "profile_terms_acceptances"},
}

// left are the tables that have nothing for our stores, and why.
var left = []struct{ table, why string }{
	{"board_last_move_shown_events", "which last moves were shown is not needed again"},
	{"session_treatment_assignments", "there are no treatment groups"},
}

// query returns a query with the facts of this state; "" if the state lacks the table that it is about.
func query(has map[string]bool, text string) string {
	for pass := 0; pass < 2; pass++ { // a fact may name another one
		for _, f := range facts {
			sql := f.sql
			for c := range strings.FieldsSeq(f.columns) {
				if !has[c] {
					sql = f.absent
				}
			}
			text = strings.ReplaceAll(text, "{"+f.name+"}", sql)
		}
	}
	return text
}
