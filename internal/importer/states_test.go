package importer

import (
	"fmt"
	"strings"
	"testing"

	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
)

// The schemas are written from the description of the original's migrations. Steps are what each does to the
// games' database and to the global one.

const first = `
CREATE TABLE players (id BIGSERIAL PRIMARY KEY, public_key BYTEA UNIQUE NOT NULL CHECK (length(public_key) = 32), rating DECIMAL(10,4) NOT NULL,
	created_at TIMESTAMPTZ DEFAULT NOW());
CREATE TABLE sessions (id BIGSERIAL PRIMARY KEY, token BYTEA UNIQUE NOT NULL CHECK (length(token) = 16), player_id BIGINT NULL REFERENCES players(id),
	trust_level INTEGER NOT NULL DEFAULT 0, created_at TIMESTAMPTZ DEFAULT NOW(), last_seen_at TIMESTAMPTZ DEFAULT NOW());
CREATE TABLE boards (id BIGSERIAL PRIMARY KEY, fen VARCHAR(90) NOT NULL, status VARCHAR(16) NOT NULL CHECK (status IN ('ACTIVE', 'RESERVED', 'DORMANT', 'ARCHIVED')),
	last_assignment_time TIMESTAMPTZ, created_at TIMESTAMPTZ DEFAULT NOW(), updated_at TIMESTAMPTZ DEFAULT NOW());
CREATE TABLE moves (id BIGSERIAL PRIMARY KEY, board_id BIGINT NOT NULL REFERENCES boards(id), session_id BIGINT NOT NULL REFERENCES sessions(id),
	move_uci VARCHAR(6) NOT NULL, move_number INTEGER NOT NULL, timestamp TIMESTAMPTZ DEFAULT NOW());
CREATE TABLE reservations (board_id BIGINT PRIMARY KEY REFERENCES boards(id), session_id BIGINT NOT NULL REFERENCES sessions(id), expires_at TIMESTAMPTZ NOT NULL);
CREATE TABLE game_results (board_id BIGINT PRIMARY KEY REFERENCES boards(id), winning_side CHAR(1) NOT NULL CHECK (winning_side IN ('w', 'b', 'd')),
	finished_at TIMESTAMPTZ DEFAULT NOW());
CREATE TABLE payouts (id BIGSERIAL PRIMARY KEY, board_id BIGINT NOT NULL REFERENCES boards(id), session_id BIGINT NOT NULL REFERENCES sessions(id),
	points_awarded DECIMAL(10,4) NOT NULL, created_at TIMESTAMPTZ DEFAULT NOW());
CREATE TABLE predictions (id BIGSERIAL PRIMARY KEY, board_id BIGINT NOT NULL REFERENCES boards(id), session_id BIGINT NOT NULL REFERENCES sessions(id),
	predicted_move_uci VARCHAR(6) NOT NULL, status VARCHAR(16) NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'CORRECT', 'INCORRECT', 'EXPIRED')),
	created_at TIMESTAMPTZ DEFAULT NOW());`

const firstGlobal = `
CREATE TABLE global_identities (id BIGSERIAL PRIMARY KEY, public_key BYTEA UNIQUE CHECK (length(public_key) = 32), created_at TIMESTAMPTZ DEFAULT NOW());
CREATE TABLE global_policy_rules (id BIGSERIAL PRIMARY KEY, global_identity_id BIGINT NOT NULL, action VARCHAR(128) NOT NULL, resource VARCHAR(256) NOT NULL,
	effect VARCHAR(8) NOT NULL, permission_level INTEGER NOT NULL DEFAULT 0, policy_version VARCHAR(64) NOT NULL DEFAULT 'v1', reason TEXT,
	created_at TIMESTAMPTZ DEFAULT NOW(), updated_at TIMESTAMPTZ DEFAULT NOW());`

// step is a migration of the original.
type step struct{ name, games, global string }

var steps = []step{
	{"002", `ALTER TABLE boards ADD COLUMN last_move_time TIMESTAMPTZ, ADD COLUMN reservation_started_at TIMESTAMPTZ, ADD COLUMN reserved_for_white BOOLEAN;
		ALTER TABLE reservations ADD COLUMN started_at TIMESTAMPTZ DEFAULT NOW(), ADD COLUMN reserved_for_white BOOLEAN NOT NULL DEFAULT TRUE;
		ALTER TABLE game_results ADD COLUMN move_count INTEGER, ADD COLUMN duration_seconds INTEGER, ADD COLUMN termination_reason VARCHAR(32)`, ""},
	{"003", "CREATE INDEX ON players (rating DESC, id)", ""},
	{"004", "ALTER TABLE sessions ADD COLUMN total_score DECIMAL(10,4) NOT NULL DEFAULT 0, ADD COLUMN games_played INTEGER NOT NULL DEFAULT 0", ""},
	{"005", "", firstGlobal},
	{"006", "", `CREATE TABLE global_runtime_config_blobs (content_hash VARCHAR(32) PRIMARY KEY, config_text TEXT, created_at TIMESTAMPTZ)`},
	{"007", "", `ALTER TABLE global_policy_rules ADD COLUMN scope VARCHAR(256) NOT NULL DEFAULT '*', ADD COLUMN source VARCHAR(32) NOT NULL DEFAULT 'manual',
		ADD COLUMN snapshot_revision_id BIGINT, ADD COLUMN not_before_at TIMESTAMPTZ, ADD COLUMN not_after_at TIMESTAMPTZ, ADD COLUMN context_key VARCHAR(128),
		ADD COLUMN context_value VARCHAR(256)`},
	{"008", `ALTER TABLE sessions ADD COLUMN global_identity_id BIGINT CHECK (global_identity_id > 0), ADD COLUMN config_revision_id BIGINT,
		ADD COLUMN policy_snapshot_revision_id BIGINT, DROP COLUMN trust_level`, ""},
	{"009", "", `CREATE TABLE global_identity_tags (global_identity_id BIGINT, tag VARCHAR(128), created_at TIMESTAMPTZ DEFAULT NOW(), PRIMARY KEY (global_identity_id, tag))`},
	{"010", `ALTER TABLE sessions ADD COLUMN total_prediction_score DECIMAL(10,4) NOT NULL DEFAULT 0;
		ALTER TABLE predictions ADD COLUMN move_number INTEGER NOT NULL DEFAULT 0, ADD COLUMN parent_prediction_id BIGINT REFERENCES predictions(id),
		ADD COLUMN correct_streak INTEGER NOT NULL DEFAULT 0, ADD COLUMN points_awarded DECIMAL(10,4) NOT NULL DEFAULT 0, ADD COLUMN resolved_at TIMESTAMPTZ`, ""},
	{"011", `ALTER TABLE sessions ADD COLUMN treatment_group_key VARCHAR(128), ADD COLUMN treatment_rule_id BIGINT, ADD COLUMN treatment_snapshot_revision_id BIGINT,
		ADD COLUMN treatment_assigned_at TIMESTAMPTZ; ALTER TABLE boards ADD COLUMN last_mover_treatment_group VARCHAR(128)`, `CREATE TABLE global_treatment_groups (id BIGSERIAL)`},
	{"012", `CREATE TYPE board_game_mode AS ENUM ('chess960');
		CREATE TABLE board_mode_variants (board_id BIGINT PRIMARY KEY REFERENCES boards(id), game_mode board_game_mode NOT NULL, mode_variant_id INTEGER)`, ""},
	{"013", `CREATE TABLE profile_terms_acceptances (id BIGSERIAL PRIMARY KEY, session_id BIGINT REFERENCES sessions(id), global_identity_id BIGINT, profile_name VARCHAR(256),
		tos_hash BYTEA CHECK (length(tos_hash) = 32), tos_text TEXT, config_revision_id BIGINT, policy_snapshot_revision_id BIGINT, accepted_at TIMESTAMPTZ DEFAULT NOW())`, ""},
	{"014", `ALTER TABLE payouts ADD COLUMN points_canonical DECIMAL(10,4); UPDATE payouts SET points_canonical = points_awarded;
		ALTER TABLE payouts ALTER COLUMN points_canonical SET NOT NULL`, ""},
	{"015", "", `CREATE TABLE global_identity_handles (global_identity_id BIGINT PRIMARY KEY, handle VARCHAR(64) UNIQUE, created_at TIMESTAMPTZ DEFAULT NOW())`},
	{"016", `CREATE TABLE board_last_move_shown_events (id BIGSERIAL PRIMARY KEY, board_id BIGINT, session_id BIGINT, shown_uci VARCHAR(6), emitted_at TIMESTAMPTZ)`, ""},
	{"017", `CREATE TABLE session_treatment_assignments (session_id BIGINT, profile_name VARCHAR(256), treatment_group_key VARCHAR(128), treatment_rule_id BIGINT,
		treatment_snapshot_revision_id BIGINT, treatment_assigned_at TIMESTAMPTZ, PRIMARY KEY (session_id, profile_name))`, ""},
}

// state is a schema that the original has had: its first one with changes, and the steps up to one.
type state struct{ name, before, upTo string }

// states are the fourteen. What exactly the three before 001 lacked is not described: they lack what an
// adoption found missing.
var states = []state{
	{"before 001, without payouts, predictions and trust", `DROP TABLE payouts, predictions; ALTER TABLE sessions DROP COLUMN trust_level;
		ALTER TABLE boards DROP COLUMN last_assignment_time`, ""},
	{"before 001, without predictions and trust", `DROP TABLE predictions; ALTER TABLE sessions DROP COLUMN trust_level`, ""},
	{"before 001, without trust", `ALTER TABLE sessions DROP COLUMN trust_level`, ""},
	{"001", "", ""},
	{"001 to 003", "", "003"}, {"001 to 004", "", "004"}, {"001 to 008", "", "008"}, {"001 to 009", "", "009"}, {"001 to 010", "", "010"},
	{"001 to 011", "", "011"}, {"001 to 012", "", "012"}, {"001 to 013", "", "013"}, {"001 to 015", "", "015"}, {"001 to 017", "", "017"},
}

// original is a pair of databases of one state, with rows.
type original struct {
	games, global postgres.Options
	has           map[string]bool // steps
	split         bool            // it has a global database
}

// make makes the databases of a state and fills them.
func (s state) make(t testing.TB) *original {
	t.Helper()
	o := &original{games: pgtest.Empty(t), has: map[string]bool{}}
	pgtest.Execute(t, o.games, first+s.before)
	global := ""
	for _, step := range steps {
		if s.upTo == "" || step.name > s.upTo {
			continue
		}
		o.has[step.name] = true
		if step.games != "" {
			pgtest.Execute(t, o.games, step.games)
		}
		global += step.global + ";"
	}
	if o.split = o.has["008"]; o.split {
		o.global = pgtest.Empty(t)
		pgtest.Execute(t, o.global, global)
	}
	o.fill(t, s)
	return o
}

func bytesOf(n, length int) string {
	return fmt.Sprintf(`decode(repeat('%02x', %d), 'hex')`, n, length)
}

// mate is a game in which White moves first and Black mates: sessions 1 and 2 play it.
var mate = strings.Fields("f2f3 e7e5 g2g4 d8h4")

// fill writes what players of the original leave behind: full-move numbers of which two moves share one, a
// flush whose numbers are sorted by token, a payout that was written twice, a board of which a move was lost.
func (o *original) fill(t testing.TB, s state) {
	t.Helper()
	run := func(sql string, args ...any) { pgtest.Execute(t, o.games, fmt.Sprintf(sql, args...)) }
	run(`INSERT INTO players (id, public_key, rating, created_at) VALUES (5, %s, 1312.5, '2025-10-01'), (6, %s, 1200, '2025-10-02')`, bytesOf(7, 32), bytesOf(8, 32))
	run(`INSERT INTO sessions (id, token, player_id, created_at, last_seen_at) VALUES (3, %s, 5, '2025-10-01', '2025-11-01'), (4, %s, NULL, NULL, '2025-10-03'), (9, %s, 5, '2025-10-05', '2025-10-06')`,
		bytesOf(1, 16), bytesOf(2, 16), bytesOf(3, 16))
	run(`INSERT INTO boards (id, fen, status, created_at) VALUES
		(1, 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1', 'DORMANT', '2025-10-01'),
		(2, 'r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3', 'RESERVED', '2025-10-01'),
		(3, 'rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3', 'ARCHIVED', '2025-10-01'),
		(7, 'rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1', 'ACTIVE', '2025-10-01'),
		(8, 'rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 1 2', 'ACTIVE', '2025-10-01')`)
	run(`INSERT INTO moves (board_id, session_id, move_uci, move_number, timestamp) VALUES
		(2, 3, 'e2e4', 1, '2025-10-01 10:00'), (2, 3, 'g1f3', 2, '2025-10-01 10:01'), (2, 4, 'e7e5', 2, '2025-10-01 10:01'),
		(2, 3, 'f1c4', 3, '2025-10-01 10:04'), (2, 4, 'b8c6', 3, '2025-10-01 10:03'),
		(7, 3, 'e2e4', 1, '2025-10-02'), (8, 9, 'e2e4', 1, '2025-10-02'), (8, 9, 'g1f3', 2, '2025-10-02')`)
	for i, uci := range mate {
		run(`INSERT INTO moves (board_id, session_id, move_uci, move_number) VALUES (3, %d, '%s', %d)`, 3+i%2, uci, 1+(i+1)/2)
	}
	run(`INSERT INTO reservations (board_id, session_id, expires_at) VALUES (2, 3, NOW() + interval '10 days'), (1, 4, '2025-10-09')`)
	run(`INSERT INTO game_results (board_id, winning_side, finished_at) VALUES (3, 'b', '2025-10-03')`)
	if !strings.Contains(s.before, "payouts") {
		canonical := ""
		if o.has["014"] {
			canonical = ", points_canonical"
		}
		run(`INSERT INTO payouts (board_id, session_id, points_awarded%s) VALUES (3, 3, 7.25%[2]s), (3, 3, 2.75%[2]s), (3, 4, 0.5%[2]s)`,
			canonical, map[bool]string{true: ", 1"}[o.has["014"]])
	}
	if !strings.Contains(s.before, "predictions") {
		run(`INSERT INTO predictions (id, board_id, session_id, predicted_move_uci, status) VALUES (11, 2, 4, 'e7e5', 'CORRECT'), (12, 2, 4, 'g8f6', 'PENDING'), (13, 8, 4, 'b8c6', 'PENDING')`)
		if o.has["010"] {
			run(`UPDATE predictions SET move_number = 2, points_awarded = 1.5, resolved_at = '2025-10-04' WHERE id = 11;
				UPDATE predictions SET move_number = 6, parent_prediction_id = 11 WHERE id = 12; UPDATE sessions SET total_prediction_score = 1.5 WHERE id = 4`)
		}
	}
	if o.has["012"] { // the king's-side castling of Chess960 takes the rook
		run(`INSERT INTO boards (id, fen, status) VALUES (960, 'bbqnnrkr/pppppppp/8/8/8/4N3/PPPPPPPP/BBQ1NRKR b HFhf - 1 1', 'ACTIVE');
			INSERT INTO board_mode_variants VALUES (960, 'chess960', 0); INSERT INTO moves (board_id, session_id, move_uci, move_number) VALUES (960, 3, 'd1e3', 1)`)
	}
	if o.has["013"] {
		run(`INSERT INTO profile_terms_acceptances (session_id, profile_name, tos_hash, tos_text) VALUES (3, 'classic', decode('a987a28e82eb46647eb8660ff61846fd1d2f20b46ffb441868b99787b2c0651b', 'hex'), 'Be nice.')`)
	}
	if !o.split {
		if s.before == "" {
			run(`UPDATE sessions SET trust_level = 4 WHERE id = 3`)
		}
		return
	}
	run(`UPDATE sessions SET global_identity_id = CASE id WHEN 4 THEN 2 ELSE 1 END`)
	global := func(sql string, args ...any) { pgtest.Execute(t, o.global, fmt.Sprintf(sql, args...)) }
	global(`INSERT INTO global_identities (id, public_key) VALUES (1, %s), (2, NULL)`, bytesOf(7, 32))
	global(`INSERT INTO global_policy_rules (global_identity_id, action, resource, effect, permission_level, source) VALUES (1, 'trust.tier', 'tier', 'allow', 4, 'manual'),
		(0, 'stats.read', 'player', 'deny', 0, 'manual'), (0, 'trust.tier', 'tier', 'allow', 9, 'md5 of a file')`)
	if o.has["009"] {
		global(`INSERT INTO global_identity_tags (global_identity_id, tag) VALUES (1, 'vip')`)
	}
	if o.has["015"] {
		global(`INSERT INTO global_identity_handles (global_identity_id, handle) VALUES (1, 'h_0123456789ab')`)
	}
}
