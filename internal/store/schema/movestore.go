package schema

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"wamble"
)

// MovedTable is a table that a move to the other kind of database copies.
type MovedTable struct {
	Name string
	Key  []string // unique, and an index of both databases begins with these columns
	// Link is a column with the number of another row of the table, which may come later: it is set when all
	// rows are there. "" if the table has none.
	Link string
}

// MovedTables are in the order in which their rows are written: a row comes after those to which it refers.
// Payouts come before sessions, because the seasons to which a trigger adds them are copied too.
var MovedTables = []MovedTable{
	{Name: "boards", Key: []string{"id"}},
	{Name: "payouts", Key: []string{"board_id", "session_id"}},
	{Name: "players", Key: []string{"id"}},
	{Name: "sessions", Key: []string{"id"}},
	{Name: "move_runs", Key: []string{"board_id", "first_ply"}},
	{Name: "game_results", Key: []string{"board_id"}},
	{Name: "reservations", Key: []string{"board_id"}},
	{Name: "arrivals", Key: []string{"board_id"}},
	{Name: "predictions", Key: []string{"id"}, Link: "parent_prediction_id"},
	{Name: "rating_changes", Key: []string{"board_id", "player_id"}},
	{Name: "season_scores", Key: []string{"who", "season"}},
	{Name: "former_names", Key: []string{"player_id", "until_at", "name"}},
	{Name: "merged_keys", Key: []string{"public_key"}},
	{Name: "profile_terms", Key: []string{"tos_hash"}},
	{Name: "profile_terms_acceptances", Key: []string{"session_id", "profile_name", "tos_hash"}},
	{Name: "board_last_move_shown_events", Key: []string{"session_id", "board_id", "emitted_at"}},
	{Name: "worlds", Key: []string{"profile"}},
	{Name: "journal_cursors", Key: []string{"journal_id", "profile"}},
}

// NotMoved says why a move does not copy a table, or a column (TABLE.COLUMN).
var NotMoved = map[string]string{
	"schema_migrations":     "each database has its own; EndMove copies the time that identifies the world",
	"sequences":             "the next numbers, which PostgreSQL keeps in sequences; EndMove sets them",
	"profile_owners":        "no server runs meanwhile",
	movingTable:             "the state of the move itself",
	"payouts.id":            "of PostgreSQL alone; nothing refers to it",
	"payouts.counted":       "of SQLite alone; it tells a trigger what to do when the row is written",
	"sessions.trust_change": "numbered by transactions of one database; a start reads all trust levels",
}

// movingTable is in a database while a move into it is not finished: the origin under the name "", and under the
// name of a table how far it is.
const movingTable = "store_move"

// Exec runs a statement of a transaction, with parameters $1, $2 …
type Exec func(text string, args ...any) error

// MoveSide is one of the two databases of a move.
type MoveSide struct {
	*Queries
	// Transact runs work in a transaction that is on disk when it returns nil.
	Transact func(ctx context.Context, what string, work func(Exec) error) error
}

// kind is how a value of a column is written. Values that are read are those of SQLite: int64, also of times (in
// microseconds) and booleans, float64, string, []byte, or nil.
type kind uint8

const (
	kindInt kind = iota + 1
	kindTime
	kindBool
	kindReal // with four decimals
	kindText
	kindBytes
)

var kinds = map[string]kind{
	"INTEGER": kindInt, "REAL": kindReal, "TEXT": kindText, "BLOB": kindBytes, // SQLite
	"int2": kindInt, "int4": kindInt, "int8": kindInt, "numeric": kindReal, "timestamptz": kindTime, "bool": kindBool,
	"text": kindText, "varchar": kindText, "bpchar": kindText, "json": kindText, "bytea": kindBytes,
}

// column is a column that both sides have.
type column struct {
	name string
	kind kind
}

// Tables returns the names of all tables.
func (m MoveSide) Tables(ctx context.Context) ([]string, error) {
	text := `SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' ORDER BY 1`
	if m.Dialect == SQLite {
		text = `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY 1`
	}
	return readAll(ctx, m.Queries, "read tables", Ask{Text: text}, scanValue[string])
}

// columns returns the names and types of a table's columns; none if there is no such table.
func (m MoveSide) columns(ctx context.Context, table string) ([]column, error) {
	text := `SELECT a.attname::text, t.typname::text FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
		WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`
	if m.Dialect == SQLite {
		text = `SELECT name, type FROM pragma_table_info($1) ORDER BY cid`
	}
	return readAll(ctx, m.Queries, "read columns", Ask{Text: text, Args: []any{table}}, func(scan Scan) (column, error) {
		var c column
		var is string
		err := scan(&c.name, &is)
		if c.kind = kinds[is]; err == nil && c.kind == 0 {
			err = fmt.Errorf("column %s.%s has the type %s, which a move does not know", table, c.name, is)
		}
		return c, err
	})
}

// TableMove is a table of a move, with the columns that are copied.
type TableMove struct {
	MovedTable
	columns []column
	link    int // index of the column Link; -1 if there is none
	keys    []int
}

// Together returns what a move between two databases with the newest schema copies of a table. A column that only
// one of them has must be in NotMoved.
func Together(ctx context.Context, from, to MoveSide, of MovedTable) (*TableMove, error) {
	a, err := from.columns(ctx, of.Name)
	if err != nil {
		return nil, err
	}
	b, err := to.columns(ctx, of.Name)
	if err != nil {
		return nil, err
	}
	t := &TableMove{MovedTable: of, link: -1}
	known := map[string]kind{}
	for _, c := range b {
		known[c.name] = c.kind
	}
	for _, c := range a {
		other, both := known[c.name]
		delete(known, c.name)
		switch name := of.Name + "." + c.name; {
		case NotMoved[name] != "":
			continue
		case !both:
			return nil, fmt.Errorf("the target has no column %s", name)
		case c.kind == kindInt && other != kindInt:
			c.kind = other // a time or a boolean
		case other != kindInt && c.kind != other || c.kind > kindBool && c.kind != other:
			return nil, fmt.Errorf("the column %s has types that do not fit", name)
		}
		t.columns = append(t.columns, c)
	}
	for name := range known {
		if NotMoved[of.Name+"."+name] == "" {
			return nil, fmt.Errorf("the source has no column %s.%s", of.Name, name)
		}
	}
	for i, c := range t.columns {
		if c.name == of.Link {
			t.link = i
		}
	}
	for _, key := range of.Key {
		at := -1
		for i, c := range t.columns {
			if c.name == key {
				at = i
			}
		}
		if at < 0 {
			return nil, fmt.Errorf("there is no column %s.%s", of.Name, key)
		}
		t.keys = append(t.keys, at)
	}
	return t, nil
}

// KeyOf returns the key of a row.
func (t *TableMove) KeyOf(row []any) []any {
	var key []any
	for _, at := range t.keys {
		key = append(key, row[at])
	}
	return key
}

// Page reads at most most rows after the one with a key, nil for the first ones, in the order of keys. With linked
// it reads only those with a link.
func (m MoveSide) Page(ctx context.Context, t *TableMove, after []any, most int, linked bool) ([][]any, error) {
	var exprs, where []string
	for _, c := range t.columns {
		exprs = append(exprs, c.read(m.Dialect))
	}
	var args []any
	if after != nil {
		var marks []string
		for i, at := range t.keys {
			args = append(args, t.columns[at].value(m.Dialect, after[i]))
			marks = append(marks, "$"+strconv.Itoa(i+1))
		}
		where = append(where, "("+strings.Join(t.Key, ", ")+") > ("+strings.Join(marks, ", ")+")")
	}
	if linked {
		where = append(where, t.Link+" IS NOT NULL")
	}
	text := "SELECT " + strings.Join(exprs, ", ") + " FROM " + t.Name
	if len(where) > 0 {
		text += " WHERE " + strings.Join(where, " AND ")
	}
	text += " ORDER BY " + strings.Join(t.Key, ", ") + " LIMIT " + strconv.Itoa(most)
	return readAll(ctx, m.Queries, "read "+t.Name, Ask{Text: text, Args: args}, func(scan Scan) ([]any, error) {
		row, into := make([]any, len(t.columns)), make([]any, len(t.columns))
		for i := range row {
			into[i] = &row[i]
		}
		err := scan(into...)
		for i := range row {
			switch v := row[i].(type) {
			case float64:
				row[i] = math.Round(v*decimals) / decimals
			case []byte:
				if v == nil { // an empty value of SQLite; NULL has no type
					row[i] = []byte{}
				}
			}
		}
		return row, err
	})
}

// decimals is the precision of ratings and points in PostgreSQL.
const decimals = 1e4

// read is the column as an expression whose values are those of SQLite.
func (c column) read(d Dialect) string {
	if d == SQLite {
		return c.name
	}
	switch c.kind {
	case kindInt:
		return c.name + "::bigint"
	case kindTime:
		return "(extract(epoch FROM " + c.name + ") * 1000000)::bigint"
	case kindBool:
		return c.name + "::int::bigint"
	case kindReal:
		return c.name + "::float8"
	case kindText:
		return c.name + "::text"
	}
	return c.name
}

// value returns a value that was read as an argument for a database.
func (c column) value(d Dialect, v any) any {
	if n, ok := v.(int64); ok && d == Postgres {
		switch c.kind {
		case kindTime:
			return time.UnixMicro(n).UTC()
		case kindBool:
			return n != 0
		}
	}
	return v
}

// statementArgs bounds the arguments of one statement: the driver of SQLite takes a time that grows with the
// square of their number.
const statementArgs = 1000

// Put writes rows of a table without their links, and how far the move is.
func (m MoveSide) Put(ctx context.Context, t *TableMove, rows [][]any, state string) error {
	var names []string
	for i, c := range t.columns {
		if i != t.link {
			names = append(names, c.name)
		}
	}
	return m.Transact(ctx, "write "+t.Name, func(exec Exec) error {
		for some := range slices.Chunk(rows, max(1, statementArgs/len(names))) {
			text, args := m.insert(t, names, some)
			if err := exec(text, args...); err != nil {
				return err
			}
		}
		return noteMove(exec, t.Name, state)
	})
}

// insert returns a statement that writes rows.
func (m MoveSide) insert(t *TableMove, names []string, rows [][]any) (text string, args []any) {
	var tuples []string
	for _, row := range rows {
		var marks []string
		for i, c := range t.columns {
			if i != t.link {
				args = append(args, c.value(m.Dialect, row[i]))
				marks = append(marks, "$"+strconv.Itoa(len(args)))
			}
		}
		tuples = append(tuples, "("+strings.Join(marks, ", ")+")")
	}
	return "INSERT INTO " + t.Name + " (" + strings.Join(names, ", ") + ") VALUES " + strings.Join(tuples, ", "), args
}

// PutLinks writes the links of rows that are there, and how far the move is.
func (m MoveSide) PutLinks(ctx context.Context, t *TableMove, rows [][]any, state string) error {
	return m.Transact(ctx, "write "+t.Name, func(exec Exec) error {
		for _, row := range rows {
			if err := exec("UPDATE "+t.Name+" SET "+t.Link+" = $1 WHERE "+t.Key[0]+" = $2", row[t.link],
				row[t.keys[0]]); err != nil {
				return err
			}
		}
		return noteMove(exec, t.Name, state)
	})
}

func noteMove(exec Exec, name, state string) error {
	return exec(`INSERT INTO `+movingTable+` (name, state) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET state = excluded.state`,
		name, state)
}

// MoveOrigin is where a move comes from.
type MoveOrigin struct {
	Name    string // for people
	Made    time.Time
	Cursors map[string]uint64 // of journals and profiles: if one has moved, the source has changed
}

// MoveState returns the origin of an unfinished move into this database, nil if there is none, and what Put and
// PutLinks have noted, by table.
func (m MoveSide) MoveState(ctx context.Context) (*MoveOrigin, map[string]string, error) {
	there, err := m.columns(ctx, movingTable)
	if err != nil || len(there) == 0 {
		return nil, nil, err
	}
	state := map[string]string{}
	err = m.Read(ctx, "read the state of a move", Ask{Text: `SELECT name, state FROM ` + movingTable, Row: func(scan Scan) error {
		var name, text string
		err := scan(&name, &text)
		state[name] = text
		return err
	}})
	origin := &MoveOrigin{}
	if err == nil {
		err = json.Unmarshal([]byte(state[""]), origin)
	}
	return origin, state, err
}

// Cursors returns the cursors of all journals.
func (m MoveSide) Cursors(ctx context.Context) (map[string]uint64, error) {
	at := map[string]uint64{}
	err := m.Read(ctx, "read cursors", Ask{Text: `SELECT journal_id, profile, message FROM journal_cursors`, Row: func(scan Scan) error {
		var id []byte
		var profile string
		var message int64
		err := scan(&id, &profile, &message)
		at[fmt.Sprintf("%x %s", id, profile)] = uint64(message)
		return err
	}})
	return at, err
}

// NoteMove sets what a status says of an unfinished move into the database.
func (m MoveSide) NoteMove(ctx context.Context, st *Status) error {
	origin, _, err := m.MoveState(ctx)
	if err == nil && origin != nil {
		st.Moving = origin.Name
	}
	return err
}

// Filled returns the first table that has rows, "" if all are empty or missing.
func (m MoveSide) Filled(ctx context.Context) (string, error) {
	for _, t := range MovedTables {
		there, err := m.columns(ctx, t.Name)
		if err != nil || len(there) == 0 {
			if err != nil {
				return "", err
			}
			continue
		}
		has, err := readOne(ctx, m.Queries, "read "+t.Name, Ask{Text: `SELECT EXISTS (SELECT 1 FROM ` + t.Name + `)`}, scanValue[bool])
		if err != nil || has {
			return t.Name, err
		}
	}
	return "", nil
}

// Count returns the number of rows of a table.
func (m MoveSide) Count(ctx context.Context, table string) (int64, error) {
	return readOne(ctx, m.Queries, "count "+table, Ask{Text: `SELECT count(*) FROM ` + table}, scanValue[int64])
}

// BeginMove notes in an empty database where a move into it comes from. No server starts with it from then on. If
// a move was begun before, its rows are deleted.
func (m MoveSide) BeginMove(ctx context.Context, origin MoveOrigin) error {
	text, err := json.Marshal(origin)
	if err != nil {
		return err
	}
	return m.Transact(ctx, "begin the move", func(exec Exec) error {
		if err := exec(`CREATE TABLE IF NOT EXISTS ` + movingTable + ` (name TEXT PRIMARY KEY, state TEXT NOT NULL)`); err != nil {
			return err
		}
		if err := exec(`UPDATE predictions SET parent_prediction_id = NULL WHERE parent_prediction_id IS NOT NULL`); err != nil {
			return err
		}
		for i := range MovedTables {
			if err := exec(`DELETE FROM ` + MovedTables[len(MovedTables)-1-i].Name); err != nil {
				return err
			}
		}
		if err := exec(`DELETE FROM ` + movingTable); err != nil {
			return err
		}
		return noteMove(exec, "", string(text))
	})
}

// Numbers returns the next number of each sequence.
func (m MoveSide) Numbers(ctx context.Context) (map[string]int64, error) {
	next := map[string]int64{}
	for _, s := range wamble.Sequences() {
		ask := Ask{Text: `SELECT coalesce(pg_sequence_last_value(to_regclass($1)), 0) + 1`, Args: []any{s.String() + "_id_seq"}}
		if m.Dialect == SQLite {
			ask = Ask{Text: `SELECT next FROM sequences WHERE name = $1`, Args: []any{s.String()}}
		}
		n, err := readOne(ctx, m.Queries, "read sequences", ask, scanValue[int64])
		if err != nil {
			return nil, err
		}
		next[s.String()] = n
	}
	return next, nil
}

// EndMove ends a move: the database gets the next numbers, and when its world was made. Servers may use it then.
func (m MoveSide) EndMove(ctx context.Context, next map[string]int64, made time.Time) error {
	return m.Transact(ctx, "end the move", func(exec Exec) error {
		for name, n := range next {
			text, args := `SELECT setval(to_regclass($1), greatest($2::bigint - 1, 1), $2::bigint > 1)`, []any{name + "_id_seq", n}
			if m.Dialect == SQLite {
				text, args = `UPDATE sequences SET next = $2 WHERE name = $1`, []any{name, n}
			}
			if err := exec(text, args...); err != nil {
				return err
			}
		}
		at := column{kind: kindTime}.value(m.Dialect, made.UnixMicro())
		if err := exec(`UPDATE schema_migrations SET applied_at = $1 WHERE version = 1`, at); err != nil {
			return err
		}
		return exec(`DROP TABLE ` + movingTable)
	})
}

// TableSum describes the rows of a table, in any order.
type TableSum struct {
	Rows int64
	Sums map[string]int64 // of columns with decimals, in units of 0.0001
	hash [2]uint64        // the sum of all rows' hashes
}

// Equal reports whether two tables have the same rows.
func (s *TableSum) Equal(other *TableSum) bool { return s.Rows == other.Rows && s.hash == other.hash }

// Add adds a row.
func (s *TableSum) Add(t *TableMove, row []any) {
	h := sha256.New()
	var b [9]byte
	put := func(as byte, n uint64) {
		b[0] = as
		binary.LittleEndian.PutUint64(b[1:], n)
		h.Write(b[:])
	}
	if s.Sums == nil {
		s.Sums = map[string]int64{}
	}
	for i, v := range row {
		switch v := v.(type) {
		case nil:
			put(0, 0)
		case int64:
			put(1, uint64(v))
		case float64:
			n := int64(math.Round(v * decimals))
			s.Sums[t.columns[i].name] += n
			put(2, uint64(n))
		case string:
			put(3, uint64(len(v)))
			h.Write([]byte(v))
		case []byte:
			put(4, uint64(len(v)))
			h.Write(v)
		}
	}
	sum := h.Sum(nil)
	s.Rows++
	s.hash[0] += binary.LittleEndian.Uint64(sum)
	s.hash[1] += binary.LittleEndian.Uint64(sum[8:])
}
