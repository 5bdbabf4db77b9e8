package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"wamble"
	"wamble/internal/intent"
	"wamble/internal/store"
	"wamble/internal/store/schema"
	"wamble/internal/store/sqlite"
	"wamble/internal/store/storetest"
)

// at returns a store on a file, not migrated.
func at(t *testing.T, path string) *sqlite.Store {
	t.Helper()
	s, err := sqlite.Open(sqlite.Options{Path: path, BusyTimeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// raw opens the file beside the store.
func raw(t *testing.T, path string) *sql.Conn {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func exec(t *testing.T, c *sql.Conn, text string) {
	t.Helper()
	if _, err := c.ExecContext(t.Context(), text); err != nil {
		t.Fatal(err)
	}
}

func number(t *testing.T, c *sql.Conn, text string) (n int64) {
	t.Helper()
	if err := c.QueryRowContext(t.Context(), text).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.db")
	s := at(t, path)
	st, err := s.Status(t.Context())
	if err != nil || st.Version != 0 || len(st.Pending) != st.Latest || !strings.HasPrefix(st.Server, "SQLite 3.") {
		t.Fatalf("status before: got %+v, %v", st, err)
	}
	steps := 0
	if err := s.Migrate(t.Context(), func(schema.Step) { steps++ }); err != nil {
		t.Fatal(err)
	}
	if got, want := steps, 2*st.Latest; got != want {
		t.Errorf("progress: got %d calls, want %d", got, want)
	}
	if st, err = s.Status(t.Context()); err != nil || st.Version != st.Latest || st.Pending != nil {
		t.Errorf("status after: got %+v, %v", st, err)
	}
	exec(t, raw(t, path), `INSERT INTO schema_migrations (version, name, applied_at) VALUES (99, '099_tomorrow.sql', 0)`)
	err = s.Migrate(t.Context(), nil)
	var newer *schema.Newer
	if !errors.As(err, &newer) || newer.Database != 99 || errors.Is(err, store.ErrTransient) {
		t.Errorf("a newer database: got %v, want *schema.Newer", err)
	}
}

// TestAdditivelyNewerDatabase: a program goes on with a database that a newer one has
// migrated, if it does not use what was added.
func TestAdditivelyNewerDatabase(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.db")
	s := at(t, path)
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	exec(t, raw(t, path), `INSERT INTO schema_migrations VALUES (98, '098_today.sql', 0, TRUE)`)
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if st, err := s.Status(t.Context()); err != nil || st.Version != 98 || st.Needs >= st.Latest || st.Pending != nil ||
		st.Refused() != nil {
		t.Errorf("got %+v, %v", st, err)
	}
	exec(t, raw(t, path), `INSERT INTO schema_migrations (version, name, applied_at) VALUES (99, '099_tomorrow.sql', 0)`)
	var newer *schema.Newer
	if err := s.Migrate(t.Context(), nil); !errors.As(err, &newer) {
		t.Errorf("after a step that is not additive: got %v, want *schema.Newer", err)
	}
	exec(t, raw(t, path), `ALTER TABLE schema_migrations DROP COLUMN additive`) // as programs before left it
	if st, err := s.Status(t.Context()); err != nil || st.Needs != 99 {
		t.Errorf("without marks: got %+v, %v", st, err)
	}
}

// TestTokensAreHashed: a token from before the migration is found, and not stored any more.
func TestTokensAreHashed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.db")
	c := older(t, path, 9)
	token := wamble.Token([]byte("sixteen secrets!"))
	exec(t, c, fmt.Sprintf(`INSERT INTO sessions (id, token) VALUES (1, x'%x'), (2, NULL)`, token[:]))
	s := at(t, path)
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Session(t.Context(), token); err != nil || got.ID != 1 || got.Token != token.Hash() {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := s.SessionByID(t.Context(), 2); err != nil || !got.Token.IsZero() {
		t.Errorf("got %+v, %v", got, err)
	}
	if n := number(t, c, fmt.Sprintf(`SELECT count(*) FROM sessions WHERE token = x'%x'`, token[:])); n != 0 {
		t.Error("the token itself is stored")
	}
}

// TestMigratedFileIsPrivate: the file and its log hold keys of players.
func TestMigratedFileIsPrivate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.db")
	if err := at(t, path).Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := info.Mode().Perm(), fs.FileMode(0o600); got != want {
			t.Errorf("%s: got mode %v, want %v", filepath.Base(name), got, want)
		}
	}
}

func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.db")
	var wg sync.WaitGroup
	for range 4 {
		s, err := sqlite.Open(sqlite.Options{Path: path, BusyTimeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		wg.Go(func() {
			if err := s.Migrate(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all, err := sqlite.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := number(t, raw(t, path), `SELECT count(*) FROM schema_migrations`), int64(len(all)); got != want {
		t.Errorf("versions: got %d, want %d", got, want)
	}
}

// TestBusy lets another process hold the write lock longer than the timeout.
func TestBusy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.db")
	s := at(t, path)
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	other := raw(t, path)
	exec(t, other, "BEGIN IMMEDIATE")
	_, start := storetest.NewTraffic(4, 1)
	if err := s.Apply(t.Context(), start); !errors.Is(err, store.ErrTransient) {
		t.Errorf("apply: got %v, want a transient error", err)
	}
	if _, err := s.Scores(t.Context(), wamble.ScoreQuery{Limit: 1}); err != nil {
		t.Errorf("a read beside a writer: %v", err)
	}
	exec(t, other, "ROLLBACK")
	if err := s.Apply(t.Context(), start); err != nil {
		t.Errorf("apply when it is free: %v", err)
	}
}

// TestBadFile: files that are no database, and a missing folder, are errors.
func TestBadFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := filepath.Join(dir, "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("this is no database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{text, dir, filepath.Join(dir, "no", "folder.db")} {
		if err := at(t, path).Migrate(t.Context(), nil); !errors.Is(err, store.ErrTransient) {
			t.Errorf("%s: got %v, want a transient error", filepath.Base(path), err)
		}
	}
	for _, path := range []string{"", "a\x00b"} {
		if _, err := sqlite.Open(sqlite.Options{Path: path}); err == nil {
			t.Errorf("%q was taken as a path", path)
		}
	}
}

// TestFull fills the file to a limit: a batch that does not fit is transient, and nothing of
// it is written.
func TestFull(t *testing.T) {
	t.Parallel()
	s := at(t, filepath.Join(t.TempDir(), "w.db"))
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	tr, start := storetest.NewTraffic(100, 1)
	if err := s.Apply(t.Context(), start); err != nil {
		t.Fatal(err)
	}
	if err := s.LimitPages(t.Context(), 1); err != nil { // no fewer than there are
		t.Fatal(err)
	}
	applied := []store.Batch{start}
	b := tr.Batch(200)
	err := s.Apply(t.Context(), b)
	for ; err == nil; err = s.Apply(t.Context(), b) {
		applied = append(applied, b)
		b = tr.Batch(200)
	}
	if !errors.Is(err, store.ErrTransient) {
		t.Errorf("a full file: got %v, want a transient error", err)
	}
	storetest.Holds(t, s, applied)
	if err := s.LimitPages(t.Context(), 1<<30); err != nil {
		t.Fatal(err)
	}
	if err := s.Apply(t.Context(), b); err != nil {
		t.Errorf("with room again: %v", err)
	}
	storetest.Holds(t, s, append(applied, b))
}

// TestReadsDoNotWrite watches the file from a connection of its own, whose
// data_version changes when another one writes.
func TestReadsDoNotWrite(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.db")
	s := at(t, path)
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	storetest.Populate(t, s)
	beside := raw(t, path)
	before := number(t, beside, "PRAGMA data_version")
	storetest.Reads(t, s)
	if got := number(t, beside, "PRAGMA data_version"); got != before {
		t.Error("a read wrote")
	}
	exec(t, raw(t, path), "UPDATE sessions SET trust_level = 11")
	if got := number(t, beside, "PRAGMA data_version"); got == before {
		t.Error("data_version does not notice writes: the test shows nothing")
	}
}

// TestRows checks the rows that no read returns: shown moves, the host's trust, the settings
// of the file.
func TestRows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.db")
	s := at(t, path)
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	storetest.Populate(t, s)
	shown := &intent.RecordLastMoveShown{Board: 3, Session: 1, UCI: "e2e4", At: storetest.Epoch()}
	b := store.Batch{Journal: store.JournalID{9}, Profile: storetest.Profile, Through: 1,
		Intents: []intent.Intent{shown, shown}}
	if err := s.Apply(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	c := raw(t, path)
	if got := number(t, c, "SELECT count(*) FROM board_last_move_shown_events WHERE shown_uci = 'e2e4'"); got != 1 {
		t.Errorf("shown moves: got %d, want 1", got)
	}
	exec(t, c, "UPDATE sessions SET trust_level = 10 WHERE id = 1; INSERT INTO boards (id, fen, status) VALUES (70, 'x', 'DORMANT')")
	if got, err := s.SessionByID(t.Context(), 1); err != nil || got.Trust != 10 {
		t.Errorf("trust: got %d, %v, want 10", got.Trust, err)
	}
	if blocks, err := s.Lease(t.Context(), wamble.BoardIDs, 5); err != nil || blocks[0].First != 71 {
		t.Errorf("lease beside a row made by hand: got %v, %v, want from 71", blocks, err)
	}
	exec(t, c, "UPDATE boards SET updated_at = 5 WHERE id = 70; UPDATE boards SET fen = 'y' WHERE id = 70")
	if got := number(t, c, "SELECT updated_at FROM boards WHERE id = 70"); got <= 5 {
		t.Error("updated_at did not follow the update")
	}
}

// TestTermsText: an acceptance that comes before the text, as after a dead letter,
// is kept, and its text is filled in by the next one that has it.
func TestTermsText(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.db")
	s := at(t, path)
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	c := raw(t, path)
	storetest.TermsText(t, s, func() (text string) {
		if err := c.QueryRowContext(t.Context(), "SELECT tos_text FROM profile_terms").Scan(&text); err != nil {
			t.Fatal(err)
		}
		return text
	})
}

// TestMovesBecomeRuns: moves from before the migration are read as before, and the view shows
// them to the host.
func TestMovesBecomeRuns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "w.db")
	c := older(t, path, 10)
	first := storetest.Epoch()
	exec(t, c, `INSERT INTO sessions (id, token) VALUES (1, x'00112233445566778899aabbccddeeff'); INSERT INTO boards (id, fen, status, profile) VALUES (40, 'x', 'ACTIVE', 'alpha')`)
	exec(t, c, storetest.OldMoves(fmt.Sprintf("%d + ($ply - 1) * 1000000", first.UnixMicro())))
	s := at(t, path)
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	storetest.HasOldMoves(t, s, first)
	if n := number(t, c, `SELECT count(*) FROM moves WHERE board_id = 40 AND move_uci = 'm' || move_number AND session_id = 1 AND id = (board_id << 20) + move_number`); n != 70 {
		t.Errorf("the view shows %d moves, want 70", n)
	}
	if n := number(t, c, `SELECT count(*) FROM move_runs`); n != 4 { // 32, 17, 1, 20
		t.Errorf("got %d runs, want 4", n)
	}
}

// older makes a database of an older version, and returns a connection to it.
func older(t *testing.T, path string, version int) *sql.Conn {
	t.Helper()
	all, err := sqlite.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	c := raw(t, path)
	exec(t, c, `CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT`)
	for _, m := range all[:version] {
		exec(t, c, m.SQL)
		exec(t, c, fmt.Sprintf(`INSERT INTO schema_migrations VALUES (%d, '%s', 0)`, m.Version, m.Name))
	}
	return c
}
