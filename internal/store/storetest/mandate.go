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
