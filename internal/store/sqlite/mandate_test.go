package sqlite_test

import (
	"encoding/hex"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"wamble"
	"wamble/internal/store/storetest"
)

// factQueries read the schema of one table in the words of the mandate. An index covers the
// columns that it begins with, also that of a primary key. SQLite calls an INTEGER of a view
// INT.
var factQueries = []string{
	`SELECT $1 || '.' || name || ' ' || iif(type = 'INT', 'INTEGER', type) FROM pragma_table_info($1)`,
	`SELECT $1 || '.' || name || ' NOT NULL' FROM pragma_table_info($1) WHERE "notnull" OR pk`,
	`SELECT $1 || '.' || name || ' DEFAULT ' || iif(dflt_value LIKE '%unixepoch%', 'NOW()', dflt_value) FROM pragma_table_info($1) WHERE dflt_value IS NOT NULL`,
	`SELECT 'PRIMARY KEY ' || $1 || ' (' || group_concat(name, ', ' ORDER BY pk) || ')' FROM pragma_table_info($1) WHERE pk HAVING count(*) > 0`,
	`SELECT 'UNIQUE ' || $1 || ' (' || group_concat(c.name, ', ' ORDER BY seqno) || ')' FROM pragma_index_list($1) i, pragma_index_info(i.name) c
		WHERE i."unique" AND i.origin = 'u' GROUP BY i.name`,
	`SELECT $1 || '.' || "from" || ' REFERENCES ' || "table" || '(' || "to" || ')' FROM pragma_foreign_key_list($1)`,
	`SELECT 'INDEX ' || $1 || ' (' || group_concat(c.name, ', ' ORDER BY c.seqno) || ')'
		FROM pragma_index_list($1) i, pragma_index_info(i.name) upto, pragma_index_info(i.name) c WHERE c.seqno <= upto.seqno AND NOT i.partial GROUP BY i.name, upto.seqno`,
	`SELECT 'TRIGGER ' || name FROM sqlite_master WHERE type = 'trigger' AND tbl_name = $1`,
	`SELECT 'SQL ' || sql FROM sqlite_master WHERE type = 'table' AND name = $1`,
}

// Checks are only in the text of a table.
var (
	valuesCheck = regexp.MustCompile(`CHECK \((\w+) IN \(('[^)]*)\)\)`)
	bytesCheck  = regexp.MustCompile(`CHECK \(length\((\w+)\) = (\d+)\)`)
)

// view is the reason why moves have no rows of their own.
const view = "moves are a view of move_runs, whose key begins with the board"

// differs lists the differences of the schema from the mandate, with the reasons.
var differs = map[string]string{
	"sessions.token NOT NULL":                    "a purged session that moved keeps its row and loses its token",
	"PRIMARY KEY moves (id)":                     view,
	"moves.board_id REFERENCES boards(id)":       view,
	"moves.board_id NOT NULL":                    view,
	"moves.session_id NOT NULL":                  view,
	"moves.session_id REFERENCES sessions(id)":   view,
	"moves.move_uci NOT NULL":                    view,
	"moves.move_number NOT NULL":                 view,
	"moves.timestamp DEFAULT NOW()":              view,
	"INDEX moves (board_id)":                     view,
	"INDEX moves (session_id)":                   "nobody asks for the moves of a session",
	"payouts.id INTEGER":                         "payouts are kept by board and session; a number of their own would be a second tree",
	"PRIMARY KEY payouts (id)":                   "payouts are kept by board and session",
	"payouts.session_id REFERENCES sessions(id)": "the writer checks the sessions of a batch at once",
}

// TestMandate compares the schema after all migrations with the document about the database,
// in the types of SQLite.
func TestMandate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.db")
	if err := at(t, path).Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	c := raw(t, path)
	var has []string
	for _, table := range storetest.MandateTables {
		for _, query := range factQueries {
			rows, err := c.QueryContext(t.Context(), query, table)
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			for rows.Next() {
				var fact string
				if err := rows.Scan(&fact); err != nil {
					t.Fatal(err)
				}
				has = append(has, fact)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
		}
		text := has[len(has)-1]
		for _, m := range valuesCheck.FindAllStringSubmatch(text, -1) {
			has = append(has, storetest.Values(table+"."+m[1], m[2]))
		}
		for _, m := range bytesCheck.FindAllStringSubmatch(text, -1) {
			has = append(has, table+"."+m[1]+" has "+m[2]+" bytes")
		}
	}
	storetest.CheckMandate(t, has, sqliteType, differs)
}

// TestTypedMandate types the document's tables and its example. The UPDATE names the hash of the token, because SQLite
// has no SHA-256.
func TestTypedMandate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.db")
	if err := at(t, path).Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	c := raw(t, path)
	exec(t, c, `INSERT INTO journal_cursors (journal_id, profile, message) VALUES (zeroblob(16), 'club', 1)`)
	bytes := func(text string) string { return `x'` + text + `'` }
	storetest.TypeMandate(t, storetest.Console{
		Bytes: bytes,
		TokenIs: func(text string) string {
			var token wamble.Token
			if _, err := hex.Decode(token[:], []byte(text)); err != nil {
				t.Fatal(err)
			}
			hash := token.Hash()
			return `token = ` + bytes(hex.EncodeToString(hash[:]))
		},
		Execute: func(statement string) (int64, error) {
			done, err := c.ExecContext(t.Context(), statement)
			if err != nil {
				return 0, err
			}
			return done.RowsAffected()
		},
		Ask: func(query string) (text string, err error) {
			return text, c.QueryRowContext(t.Context(), query).Scan(&text)
		},
	}, "club")
	next := 0
	if err := c.QueryRowContext(t.Context(),
		`SELECT min(next) FROM sequences WHERE name IN ('players', 'sessions', 'boards')`).Scan(&next); err != nil || next < 2 {
		t.Errorf("the server's next number is %d, %v: it is taken", next, err)
	}
}

// sqliteType returns the type in which SQLite keeps one of the mandate.
func sqliteType(kind string) string {
	switch kind, _, _ := strings.Cut(kind, "("); kind {
	case "BYTEA":
		return "BLOB"
	case "DECIMAL":
		return "REAL"
	case "VARCHAR", "CHAR":
		return "TEXT"
	}
	return "INTEGER"
}
