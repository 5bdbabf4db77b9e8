package storetest

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// mandate is the section "Tables" of the database document.
const mandate = `
- players
  - id BIGSERIAL PRIMARY KEY
  - public_key BYTEA UNIQUE NOT NULL (32 bytes)
  - rating DECIMAL(10,4) NOT NULL
  - created_at TIMESTAMPTZ DEFAULT NOW()
- sessions
  - id BIGSERIAL PRIMARY KEY
  - token BYTEA UNIQUE NOT NULL (16 bytes)
  - player_id BIGINT NULL REFERENCES players(id)
  - trust_level INTEGER NOT NULL DEFAULT 0
  - created_at TIMESTAMPTZ DEFAULT NOW()
  - last_seen_at TIMESTAMPTZ DEFAULT NOW()
  - INDEX (token)
- boards
  - id BIGSERIAL PRIMARY KEY
  - fen VARCHAR(90) NOT NULL
  - status VARCHAR(16) NOT NULL in {'ACTIVE','RESERVED','DORMANT','ARCHIVED'}
  - created_at TIMESTAMPTZ DEFAULT NOW()
  - updated_at TIMESTAMPTZ DEFAULT NOW()
  - INDEX (status)
  - TRIGGER trigger_boards_updated_at
- moves
  - id BIGSERIAL PRIMARY KEY
  - board_id BIGINT NOT NULL REFERENCES boards(id)
  - session_id BIGINT NOT NULL REFERENCES sessions(id)
  - move_uci VARCHAR(6) NOT NULL
  - move_number INTEGER NOT NULL
  - timestamp TIMESTAMPTZ DEFAULT NOW()
  - INDEX (board_id)
  - INDEX (session_id)
- reservations
  - board_id BIGINT PRIMARY KEY REFERENCES boards(id)
  - session_id BIGINT NOT NULL REFERENCES sessions(id)
  - expires_at TIMESTAMPTZ NOT NULL
  - INDEX (expires_at)
- game_results
  - board_id BIGINT PRIMARY KEY REFERENCES boards(id)
  - winning_side CHAR(1) NOT NULL in {'w','b','d'}
  - finished_at TIMESTAMPTZ DEFAULT NOW()
- payouts
  - id BIGSERIAL PRIMARY KEY
  - board_id BIGINT NOT NULL REFERENCES boards(id)
  - session_id BIGINT NOT NULL REFERENCES sessions(id)
  - points_awarded DECIMAL(10,4) NOT NULL
  - created_at TIMESTAMPTZ DEFAULT NOW()
  - INDEX (session_id)
- predictions
  - id BIGSERIAL PRIMARY KEY
  - board_id BIGINT NOT NULL REFERENCES boards(id)
  - session_id BIGINT NOT NULL REFERENCES sessions(id)
  - predicted_move_uci VARCHAR(6) NOT NULL
  - status VARCHAR(16) NOT NULL DEFAULT 'PENDING' in {'PENDING','CORRECT','INCORRECT','EXPIRED'}
  - created_at TIMESTAMPTZ DEFAULT NOW()`

// MandateTables are the tables of the mandate.
var MandateTables = []string{"players", "sessions", "boards", "moves", "reservations", "game_results", "payouts",
	"predictions"}

// Patterns of the constraints after name and type in a line of the mandate.
var (
	mandateDefault    = regexp.MustCompile(`DEFAULT (\S+)`)
	mandateReferences = regexp.MustCompile(`REFERENCES (\w+)\((\w+)\)`)
	mandateBytes      = regexp.MustCompile(`\((\d+) bytes\)`)
	quoted            = regexp.MustCompile(`'([A-Za-z]+)'`)
)

// Values returns the fact that a column allows only the quoted words of a text.
func Values(column, text string) string {
	var words []string
	for _, m := range quoted.FindAllStringSubmatch(text, -1) {
		words = append(words, m[1])
	}
	slices.Sort(words)
	return column + " IN " + strings.Join(words, " ")
}

// mandateFacts returns the single facts of the mandate: a column exists, has a type, is NOT
// NULL, and so on. TypeOf translates types; BIGSERIAL is BIGINT.
func mandateFacts(typeOf func(string) string) (facts []string) {
	table := ""
	for line := range strings.Lines(mandate) {
		words := strings.Fields(line)
		if len(words) == 2 {
			table = words[1]
		}
		if len(words) < 3 {
			continue
		}
		name, kind := words[1], words[2]
		column := table + "." + name
		add := func(fact string) { facts = append(facts, fact) }
		switch name {
		case "INDEX":
			add("INDEX " + table + " " + kind)
			continue
		case "TRIGGER":
			add("TRIGGER " + kind)
			continue
		}
		add(column + " " + typeOf(strings.Replace(kind, "BIGSERIAL", "BIGINT", 1)))
		if strings.Contains(line, "PRIMARY KEY") {
			add("PRIMARY KEY " + table + " (" + name + ")")
		}
		if strings.Contains(line, "UNIQUE") {
			add("UNIQUE " + table + " (" + name + ")")
		}
		if strings.Contains(line, "NOT NULL") {
			add(column + " NOT NULL")
		}
		if m := mandateDefault.FindStringSubmatch(line); m != nil {
			add(column + " DEFAULT " + m[1])
		}
		if m := mandateReferences.FindStringSubmatch(line); m != nil {
			add(column + " REFERENCES " + m[1] + "(" + m[2] + ")")
		}
		if m := mandateBytes.FindStringSubmatch(line); m != nil {
			add(column + " has " + m[1] + " bytes")
		}
		if _, values, ok := strings.Cut(line, " in {"); ok {
			add(Values(column, values))
		}
	}
	return facts
}

// CheckMandate compares a migrated store with the mandate. Differs maps the facts that the
// store lacks to the reasons.
func CheckMandate(t testing.TB, has []string, typeOf func(string) string, differs map[string]string) {
	t.Helper()
	facts := mandateFacts(typeOf)
	for _, fact := range facts {
		switch why, known := differs[fact]; {
		case !known && !slices.Contains(has, fact):
			t.Errorf("%s: the schema does not have it", fact)
		case known && slices.Contains(has, fact):
			t.Errorf("%s: the schema has it, although %s", fact, why)
		}
	}
	for _, fact := range slices.Sorted(maps.Keys(differs)) {
		if !slices.Contains(facts, fact) {
			t.Errorf("%s: the mandate does not say so", fact)
		}
	}
	if len(facts) < 90 {
		t.Errorf("only %d facts were found in the mandate", len(facts))
	}
	if t.Failed() {
		t.Logf("the schema:\n%s", strings.Join(slices.Sorted(slices.Values(has)), "\n"))
	}
}

// Console is a database as its host's own client shows it.
type Console struct {
	// Bytes writes a hexadecimal text as a value of the database.
	Bytes func(hex string) string
	// Execute runs a statement and returns how many rows it has changed; Ask returns the text of one value.
	Execute func(statement string) (rows int64, err error)
	Ask     func(query string) (string, error)
	// TokenIs is the condition that finds the session of a token in hexadecimal.
	TokenIs func(hex string) string
}

// The keys and the token of TypeMandate.
const (
	keyOne   = "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29"
	keyTwo   = "8139770ea87d175f56a35466c34c7ecccb8d8a91b4ee37a25df60f5b8fc9b394"
	tokenOne = "000102030405060708090a0b0c0d0e0f"
	hashOne  = "be45cb2605bf36bebde684841a28f0fd"
)

// TypeMandate inserts a row into each table of the mandate with its columns alone, as a host types them, and promotes a
// session by its token. The database is empty but for one profile that has written to it.
func TypeMandate(t testing.TB, c Console, profile string) {
	t.Helper()
	for _, statement := range []string{
		`INSERT INTO players (public_key, rating) VALUES (` + c.Bytes(keyOne) + `, 1200)`,
		`INSERT INTO players (public_key, rating) VALUES (` + c.Bytes(keyTwo) + `, 1300.5)`,
		`INSERT INTO sessions (token, player_id) SELECT ` + c.Bytes(hashOne) + `, max(id) FROM players`,
		`INSERT INTO sessions (token) VALUES (` + c.Bytes(strings.Repeat("07", 16)) + `)`,
		`INSERT INTO boards (fen, status) VALUES ('rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1', 'ACTIVE')`,
		`INSERT INTO moves (board_id, session_id, move_uci, move_number) SELECT b.id, min(s.id), 'e2e4', 1 FROM boards b, sessions s GROUP BY b.id`,
		`INSERT INTO reservations (board_id, session_id, expires_at) SELECT b.id, min(s.id), b.created_at FROM boards b, sessions s GROUP BY b.id`,
		`INSERT INTO game_results (board_id, winning_side) SELECT id, 'w' FROM boards`,
		`INSERT INTO payouts (board_id, session_id, points_awarded) SELECT b.id, min(s.id), 6.5 FROM boards b, sessions s GROUP BY b.id`,
		`INSERT INTO predictions (board_id, session_id, predicted_move_uci) SELECT b.id, min(s.id), 'e7e5' FROM boards b, sessions s GROUP BY b.id`,
		`UPDATE sessions SET trust_level = 10 WHERE ` + c.TokenIs(tokenOne),
	} {
		if rows, err := c.Execute(statement); err != nil || rows > 1 {
			t.Errorf("%s: %d rows, %v", statement, rows, err)
		}
	}
	for query, want := range map[string]string{
		`SELECT min(handle) || ' ' || max(handle) FROM players`:                                   "h_3b6a27bcceb6 h_8139770ea87d",
		`SELECT CAST(count(*) AS TEXT) FROM former_names`:                                         "0",
		`SELECT profile FROM boards`:                                                              profile,
		`SELECT move_uci || move_number FROM moves WHERE session_id IN (SELECT id FROM sessions)`: "e2e41",
		`SELECT CAST(count(*) AS TEXT) FROM reservations WHERE NOT reserved_for_white`:            "1",
		`SELECT winning_side FROM game_results`:                                                   "w",
		`SELECT CAST(CAST(points_awarded * 10 AS INTEGER) AS TEXT) FROM payouts`:                  "65",
		`SELECT status FROM predictions`:                                                          "PENDING",
		`SELECT CAST(max(trust_level) AS TEXT) FROM sessions`:                                     "10",
	} {
		if got, err := c.Ask(query); err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", query, got, err, want)
		}
	}
}
