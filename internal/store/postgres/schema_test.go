package postgres_test

import (
	"regexp"
	"strings"
	"testing"

	"wamble"

	"github.com/jackc/pgx/v5"

	"wamble/internal/intent"
	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/storetest"
)

// original is what 001_initial_schema.sql makes, which is what a database of the
// original is the schema of 001_initial_schema.sql, which is that of a database of the
// original: table by table its columns, then checks, indexes and triggers.
const original = `
boards.created_at timestamp with time zone DEFAULT now()
boards.fen character varying(90) NOT NULL
boards.id bigint NOT NULL DEFAULT nextval('boards_id_seq'::regclass)
boards.last_assignment_time timestamp with time zone
boards.status character varying(16) NOT NULL
boards.updated_at timestamp with time zone DEFAULT now()
game_results.board_id bigint NOT NULL
game_results.finished_at timestamp with time zone DEFAULT now()
game_results.winning_side character(1) NOT NULL
moves.board_id bigint NOT NULL
moves.id bigint NOT NULL DEFAULT nextval('moves_id_seq'::regclass)
moves.move_number integer NOT NULL
moves.move_uci character varying(6) NOT NULL
moves.session_id bigint NOT NULL
moves.timestamp timestamp with time zone DEFAULT now()
payouts.board_id bigint NOT NULL
payouts.created_at timestamp with time zone DEFAULT now()
payouts.id bigint NOT NULL DEFAULT nextval('payouts_id_seq'::regclass)
payouts.points_awarded numeric(10,4) NOT NULL
payouts.session_id bigint NOT NULL
players.created_at timestamp with time zone DEFAULT now()
players.id bigint NOT NULL DEFAULT nextval('players_id_seq'::regclass)
players.public_key bytea NOT NULL
players.rating numeric(10,4) NOT NULL
predictions.board_id bigint NOT NULL
predictions.created_at timestamp with time zone DEFAULT now()
predictions.id bigint NOT NULL DEFAULT nextval('predictions_id_seq'::regclass)
predictions.predicted_move_uci character varying(6) NOT NULL
predictions.session_id bigint NOT NULL
predictions.status character varying(16) NOT NULL DEFAULT 'PENDING'::character varying
reservations.board_id bigint NOT NULL
reservations.expires_at timestamp with time zone NOT NULL
reservations.session_id bigint NOT NULL
sessions.created_at timestamp with time zone DEFAULT now()
sessions.id bigint NOT NULL DEFAULT nextval('sessions_id_seq'::regclass)
sessions.last_seen_at timestamp with time zone DEFAULT now()
sessions.player_id bigint
sessions.token bytea NOT NULL
sessions.trust_level integer NOT NULL DEFAULT 0
boards: CHECK (((status)::text = ANY ((ARRAY['ACTIVE'::character varying, 'RESERVED'::character varying, 'DORMANT'::character varying, 'ARCHIVED'::character varying])::text[])))
boards: PRIMARY KEY (id)
game_results: CHECK ((winning_side = ANY (ARRAY['w'::bpchar, 'b'::bpchar, 'd'::bpchar])))
game_results: FOREIGN KEY (board_id) REFERENCES boards(id)
game_results: PRIMARY KEY (board_id)
moves: FOREIGN KEY (board_id) REFERENCES boards(id)
moves: FOREIGN KEY (session_id) REFERENCES sessions(id)
moves: PRIMARY KEY (id)
payouts: FOREIGN KEY (board_id) REFERENCES boards(id)
payouts: FOREIGN KEY (session_id) REFERENCES sessions(id)
payouts: PRIMARY KEY (id)
players: CHECK ((length(public_key) = 32))
players: PRIMARY KEY (id)
players: UNIQUE (public_key)
predictions: CHECK (((status)::text = ANY ((ARRAY['PENDING'::character varying, 'CORRECT'::character varying, 'INCORRECT'::character varying, 'EXPIRED'::character varying])::text[])))
predictions: FOREIGN KEY (board_id) REFERENCES boards(id)
predictions: FOREIGN KEY (session_id) REFERENCES sessions(id)
predictions: PRIMARY KEY (id)
reservations: FOREIGN KEY (board_id) REFERENCES boards(id)
reservations: FOREIGN KEY (session_id) REFERENCES sessions(id)
reservations: PRIMARY KEY (board_id)
sessions: CHECK ((length(token) = 16))
sessions: FOREIGN KEY (player_id) REFERENCES players(id)
sessions: PRIMARY KEY (id)
sessions: UNIQUE (token)
idx_boards_status (status)
idx_moves_board_id (board_id)
idx_moves_board_session (board_id, session_id)
idx_moves_session_id (session_id)
idx_payouts_session_id (session_id)
idx_reservations_expires_at (expires_at)
idx_sessions_token (token)
trigger_boards_updated_at BEFORE UPDATE ON public.boards FOR EACH ROW EXECUTE FUNCTION update_timestamp()`

// described reads the schema in the same words.
const described = `SELECT string_agg(line, E'\n' ORDER BY part, line COLLATE "C") FROM (
	SELECT 1 AS part, a.attrelid::regclass || '.' || attname || ' ' || format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END
		|| coalesce(' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), '') AS line
	FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
	WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND attnum > 0
	UNION ALL SELECT 2, conrelid::regclass || ': ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'public'::regnamespace
	UNION ALL SELECT 3, indexname || ' ' || substring(indexdef FROM '\(.*') FROM pg_indexes WHERE schemaname = 'public' AND indexname LIKE 'idx%'
	UNION ALL SELECT 4, tgname || substring(pg_get_triggerdef(oid) FROM ' BEFORE.*') FROM pg_trigger WHERE NOT tgisinternal) s`

// TestOriginalSchema looks at the schema before all other migrations.
func TestOriginalSchema(t *testing.T) {
	t.Parallel()
	got := pgtest.Query[string](t, originalDatabase(t), described)
	want := strings.Split(strings.TrimSpace(original), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("line %d of the schema: got %q, want %q", i+1, line, append(want, "nothing")[min(i, len(want))])
		}
	}
	if n := strings.Count(got, "\n") + 1; n != len(want) {
		t.Errorf("got %d lines, want %d", n, len(want))
	}
}

// facts reads the schema in the words of the mandate. An index covers the columns that it
// begins with.
const facts = `SELECT string_agg(line, E'\n') FROM (
	SELECT a.attrelid::regclass || '.' || attname || fact AS line
	FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
	CROSS JOIN LATERAL (VALUES (' ' || format_type(atttypid, atttypmod)), (CASE WHEN attnotnull THEN ' NOT NULL' END),
		(' DEFAULT ' || regexp_replace(replace(pg_get_expr(d.adbin, d.adrelid), 'now()', 'NOW()'), '::.*', ''))) f(fact)
	WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v') AND attnum > 0
	UNION ALL SELECT split_part(pg_get_constraintdef(oid), ' (', 1) || ' ' || conrelid::regclass || ' (' || split_part(pg_get_constraintdef(oid), ' (', 2)
	FROM pg_constraint WHERE connamespace = 'public'::regnamespace AND contype IN ('p', 'u')
	UNION ALL SELECT conrelid::regclass || '.' || a.attname || ' ' || substring(pg_get_constraintdef(c.oid) FROM 'REFERENCES \w+\(\w+\)')
	FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = conrelid AND a.attnum = conkey[1] WHERE contype = 'f'
	UNION ALL SELECT 'CHECK ' || conrelid::regclass || '.' || a.attname || ' ' || pg_get_constraintdef(c.oid)
	FROM pg_constraint c JOIN pg_attribute a ON a.attrelid = conrelid AND a.attnum = conkey[1] WHERE contype = 'c' AND connamespace = 'public'::regnamespace
	UNION ALL SELECT 'INDEX ' || indrelid::regclass || ' (' || string_agg(a.attname, ', ' ORDER BY k) || ')'
	FROM pg_index JOIN pg_class c ON c.oid = indrelid, generate_series(1, indnkeyatts) n, generate_series(1, n) k
	JOIN pg_attribute a ON true WHERE c.relnamespace = 'public'::regnamespace AND a.attrelid = indrelid AND a.attnum = indkey[k - 1] AND indpred IS NULL
	GROUP BY indexrelid, indrelid, n
	UNION ALL SELECT 'TRIGGER ' || tgname FROM pg_trigger WHERE NOT tgisinternal) s`

// view is the reason why moves have no rows of their own.
const view = "moves are a view of move_runs, whose key begins with the board"

// differs lists the differences of the schema from the mandate, with the reasons.
var differs = map[string]string{
	"sessions.token NOT NULL":                    "a purged session that moved keeps its row and loses its token",
	"PRIMARY KEY moves (id)":                     view,
	"moves.board_id NOT NULL":                    view,
	"moves.board_id REFERENCES boards(id)":       view,
	"moves.session_id NOT NULL":                  view,
	"moves.session_id REFERENCES sessions(id)":   view,
	"moves.move_uci NOT NULL":                    view,
	"moves.move_number NOT NULL":                 view,
	"moves.timestamp DEFAULT NOW()":              view,
	"INDEX moves (board_id)":                     view,
	"payouts.board_id REFERENCES boards(id)":     "the writer checks the boards of a batch at once",
	"payouts.session_id REFERENCES sessions(id)": "the writer checks the sessions of a batch at once",
	"INDEX moves (session_id)":                   "nobody asks for the moves of a session",
}

// TestMandate compares the schema after all migrations, of a new database and of one of the
// original, with the document about the database.
func TestMandate(t *testing.T) {
	t.Parallel()
	adopted := originalDatabase(t)
	adopted.Profile = "classic"
	if err := open(t, adopted).Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	types := strings.NewReplacer("BIGINT", "bigint", "BYTEA", "bytea", "DECIMAL", "numeric", "TIMESTAMPTZ",
		"timestamp with time zone",
		"INTEGER", "integer", "VARCHAR", "character varying", "CHAR", "character")
	for name, o := range map[string]postgres.Options{"new": pgtest.Migrated(t), "adopted": adopted} {
		t.Run(name, func(t *testing.T) {
			has := strings.Split(pgtest.Query[string](t, o, facts), "\n")
			for _, fact := range has {
				rule, ok := strings.CutPrefix(fact, "CHECK ")
				if !ok {
					continue
				}
				column, check, _ := strings.Cut(rule, " ")
				has = append(has, storetest.Values(column, check))
				if m := regexp.MustCompile(`length\(\w+\) = (\d+)`).FindStringSubmatch(check); m != nil {
					has = append(has, column+" has "+m[1]+" bytes")
				}
			}
			storetest.CheckMandate(t, has, types.Replace, differs)
		})
	}
}

// TestTypedMandate types the document's tables and its example. Its UPDATE needs token_hash around the token, because
// databases hold hashes of tokens.
func TestTypedMandate(t *testing.T) {
	t.Parallel()
	o := pgtest.Migrated(t)
	pgtest.Execute(t, o, `INSERT INTO journal_cursors (journal_id, profile, message) VALUES (decode(repeat('01', 16), 'hex'), 'club', 1)`)
	host, err := pgx.Connect(t.Context(), o.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close(t.Context())
	bytes := func(hex string) string { return `decode('` + hex + `', 'hex')` }
	storetest.TypeMandate(t, storetest.Console{
		Bytes:   bytes,
		TokenIs: func(hex string) string { return `token = token_hash(` + bytes(hex) + `)` },
		Execute: func(statement string) (int64, error) {
			tag, err := host.Exec(t.Context(), statement)
			return tag.RowsAffected(), err
		},
		Ask: func(query string) (text string, err error) {
			return text, host.QueryRow(t.Context(), query).Scan(&text)
		},
	}, "club")
}

// TestUpdatedAt checks that the trigger works.
func TestUpdatedAt(t *testing.T) {
	t.Parallel()
	o := pgtest.Migrated(t)
	pgtest.Execute(t, o, `INSERT INTO boards (fen, status, updated_at) VALUES ('x', 'ACTIVE', '2000-01-01')`)
	pgtest.Execute(t, o, `UPDATE boards SET fen = 'y'`)
	if !pgtest.Query[bool](t, o, `SELECT updated_at > NOW() - interval '1 hour' FROM boards`) {
		t.Error("updated_at did not follow the update")
	}
}

// TestOnlySelect reads everything as a role that may do nothing else.
func TestOnlySelect(t *testing.T) {
	t.Parallel()
	o := pgtest.Migrated(t)
	storetest.Populate(t, open(t, o))
	role := "reader_of_" + o.Name
	pgtest.Execute(t, o, `CREATE ROLE `+role+` LOGIN PASSWORD 'it''s \ secret'; GRANT SELECT ON ALL TABLES IN SCHEMA public TO `+role)
	t.Cleanup(func() { pgtest.Forget(t, o, role) })
	reader := o
	reader.User, reader.Password = role, `it's \ secret`
	s := open(t, reader)
	storetest.Reads(t, s)
	if st, err := s.Status(t.Context()); err != nil || st.Version != st.Latest {
		t.Errorf("status: got %+v, %v", st, err)
	}
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Errorf("migrate where nothing is pending: %v", err)
	}
}

// TestTrust promotes a session as the database document shows, in a transaction that
// is open while servers ask for changes: it is found when it is committed.
func TestTrust(t *testing.T) {
	t.Parallel()
	o := pgtest.Migrated(t)
	s := open(t, o)
	storetest.Populate(t, s)
	token := pgtest.Query[string](t, o, `SELECT encode(token, 'hex') FROM sessions WHERE id = 1`)
	host, err := pgx.Connect(t.Context(), o.DSN())
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close(t.Context())
	if _, err := host.Exec(t.Context(),
		`BEGIN; UPDATE sessions SET trust_level = 12 WHERE token = decode('`+token+`', 'hex')`); err != nil {
		t.Fatal(err)
	}
	pgtest.Execute(t, o, `SELECT txid_current()`) // numbers go on
	before, mark, err := s.TrustChanges(t.Context(), 0)
	if want := (wamble.TrustLevel{Session: 1, Level: 10}); err != nil || len(before) != 1 || before[0] != want {
		t.Fatalf("before: got %v, %v, want %v", before, err, want)
	}
	if _, err := host.Exec(t.Context(), `COMMIT`); err != nil {
		t.Fatal(err)
	}
	after, _, err := s.TrustChanges(t.Context(), mark)
	if want := (wamble.TrustLevel{Session: 1, Level: 12}); err != nil || len(after) != 1 || after[0] != want {
		t.Errorf("after: got %v, %v, want %v", after, err, want)
	}
}

// TestShownOnce checks the one kind of row that no read returns.
func TestShownOnce(t *testing.T) {
	t.Parallel()
	o := pgtest.Migrated(t)
	s := open(t, o)
	storetest.Populate(t, s)
	b := store.Batch{Journal: store.JournalID{9}, Profile: storetest.Profile, Through: 1}
	at := pgtest.Query[string](t, o, `SELECT created_at::text FROM sessions`)
	shown := &intent.RecordLastMoveShown{Board: 3, Session: 1, UCI: "e2e4", At: storetest.Epoch()}
	b.Intents = []intent.Intent{shown, shown}
	if err := s.Apply(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if got := pgtest.Query[int](t, o,
		`SELECT count(*) FROM board_last_move_shown_events WHERE shown_uci = 'e2e4' AND emitted_at < $1::timestamptz`,
		at); got != 1 {
		t.Errorf("shown moves: got %d, want 1", got)
	}
}

// TestTermsText: an acceptance that comes before the text, as after a dead letter,
// is kept, and its text is filled in by the next one that has it.
func TestTermsText(t *testing.T) {
	t.Parallel()
	o := pgtest.Migrated(t)
	s := open(t, o)
	storetest.TermsText(t, s, func() string { return pgtest.Query[string](t, o, `SELECT tos_text FROM profile_terms`) })
}

// TestAddresses: several hosts, each perhaps with a port of its own.
func TestAddresses(t *testing.T) {
	for host, want := range map[string]string{
		"db":                   "db:5432",
		"/run/postgresql":      "/run/postgresql:5432",
		"a, b:6432":            "a:5432, b:6432",
		"[::1]:6432,192.0.2.1": "::1:6432, 192.0.2.1:5432",
	} {
		o := postgres.Options{Host: host, Port: 5432}
		if got := o.Where(); got != want {
			t.Errorf("%s: got %s, want %s", host, got, want)
		}
	}
	dsn := postgres.Options{Host: "a,b:6432", Name: "games"}.DSN()
	for _, want := range []string{"host='a,b'", "port='5432,6432'", "target_session_attrs='read-write'"} {
		if !strings.Contains(dsn, want) {
			t.Errorf("%s lacks %s", dsn, want)
		}
	}
}

func TestDSN(t *testing.T) {
	o := postgres.Options{Host: "/tmp/a b", Port: 6432, User: `o'brien`, Password: `p'a\s s='x'`, Name: "wa mble",
		SSLMode: "verify-full"}
	cfg, err := pgx.ParseConfig(strings.Replace(o.DSN(), "verify-full", "disable", 1)) // which needs no certificates
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Host != o.Host || int(cfg.Port) != o.Port || cfg.User != o.User || cfg.Password != o.Password ||
		cfg.Database != o.Name {
		t.Errorf("got %q %d %q %q %q, want %+v", cfg.Host, cfg.Port, cfg.User, cfg.Password, cfg.Database, o)
	}
	for _, want := range []string{"sslmode='verify-full'", "target_session_attrs='read-write'"} {
		if !strings.Contains(o.DSN(), want) {
			t.Errorf("%s is missing in %s", want, o.DSN())
		}
	}
	if _, err := postgres.Open(postgres.Options{Host: "x", SSLMode: "maybe"}); err == nil {
		t.Error("an unknown sslmode was taken")
	}
}
