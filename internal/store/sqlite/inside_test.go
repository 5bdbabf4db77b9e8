package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"wamble"
	"wamble/internal/store/schema"
)

// LimitPages bounds the size of the file, as a full disk does.
func (s *Store) LimitPages(ctx context.Context, pages int) error {
	return s.writer.transact(ctx, func(t *tx) error {
		var now int
		return t.scan(fmt.Sprintf("PRAGMA max_page_count = %d", pages), nil, &now)
	})
}

// TestSettings asks the connections themselves.
func TestSettings(t *testing.T) {
	s, err := Open(Options{Path: filepath.Join(t.TempDir(), "w.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1",
		"busy_timeout": "5000"} {
		var got string
		err := s.writer.transact(t.Context(), func(tx *tx) error { return tx.scan("PRAGMA "+pragma, nil, &got) })
		if err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", pragma, got, err, want)
		}
	}
	if _, err := s.readers.Exec("DELETE FROM boards"); err == nil {
		t.Error("a reader wrote")
	}
	var version string
	if err := s.readers.QueryRow("SELECT sqlite_version()").Scan(&version); err != nil {
		t.Fatal(err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(version, "%d.%d", &major, &minor); err != nil || major != 3 || minor < 53 {
		t.Errorf("SQLite %s, want at least 3.53", version)
	}
}

// TestReadsAreIndexed reads the query plans: for a leaderboard no table is sorted, only the
// rows up to the page, and a trail looks at the sessions of one player.
func TestReadsAreIndexed(t *testing.T) {
	s, err := Open(Options{Path: filepath.Join(t.TempDir(), "w.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	for index, q := range map[string]wamble.LeaderboardQuery{
		"idx_players_by_score":    {Limit: 10},
		"idx_players_by_rating":   {Limit: 10, ByRating: true},
		"idx_guests_by_score":     {Limit: 10},
		"idx_season_scores":       {Limit: 10, Season: 202611},
		"idx_bots_by_score":       {Limit: 10, Bots: true},
		"idx_bots_by_rating":      {Limit: 10, Bots: true, ByRating: true},
		"idx_guest_bots_by_score": {Limit: 10, Bots: true},
	} {
		asked := s.asked(func() error { _, err := s.Leaderboard(t.Context(), q); return err }, t)
		s.usesIndex(t, index, asked[1])
	}
	for _, ask := range s.asked(func() error { _, err := s.Trail(t.Context(), 1); return err }, t) {
		s.usesIndex(t, "idx_sessions_player", ask)
	}
	for _, ask := range s.asked(func() error { _, err := s.Past(t.Context(), wamble.PastQuery{Profile: "a", Limit: 5}); return err }, t) {
		s.usesIndex(t, "idx_boards_made", ask)
	}
}

// asked returns the queries of a read.
func (s *Store) asked(read func() error, t *testing.T) (asks []schema.Ask) {
	t.Helper()
	was := s.Read
	defer func() { s.Read = was }()
	s.Read = func(ctx context.Context, what string, more ...schema.Ask) error {
		asks = append(asks, more...)
		return was(ctx, what, more...)
	}
	if err := read(); err != nil || len(asks) == 0 {
		t.Fatalf("got %d queries and %v", len(asks), err)
	}
	return asks
}

// usesIndex fails unless a query uses an index, and reads no table o or s without one.
func (s *Store) usesIndex(t *testing.T, index string, ask schema.Ask) {
	t.Helper()
	rows, err := s.readers.Query("EXPLAIN QUERY PLAN "+ask.Text, ask.Args...)
	if err != nil {
		t.Fatal(err)
	}
	var plan []string
	for rows.Next() {
		var a, b, c int
		var step string
		if err := rows.Scan(&a, &b, &c, &step); err != nil {
			t.Fatal(err)
		}
		plan = append(plan, step)
	}
	if err := rows.Close(); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(plan, "; ")
	if !strings.Contains(text, index) || strings.Contains(text, "SCAN o;") || strings.Contains(text, "SCAN s;") {
		t.Errorf("the plan is %s, want %s, and no table is read without an index", text, index)
	}
}

// TestSeasonOfAnOlderProgram: a payout of a writer that does not count its season, as
// an older program writes it beside this one, is counted all the same.
func TestSeasonOfAnOlderProgram(t *testing.T) {
	s, err := Open(Options{Path: filepath.Join(t.TempDir(), "w.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var text string
	err = s.writer.transact(t.Context(), func(tx *tx) error {
		for _, sql := range []string{
			`INSERT INTO sessions (id, token) VALUES (7, zeroblob(16))`,
			`INSERT INTO boards (id, fen, status) VALUES (1, '', 'ACTIVE'), (2, '', 'ACTIVE')`,
			`INSERT INTO payouts (board_id, session_id, points_awarded, created_at) VALUES (1, 7, 1.5, 1794800000000000), (2, 7, 2, 1794800000000000)`,
		} {
			if _, err := tx.exec(sql); err != nil {
				return err
			}
		}
		return tx.scan(`SELECT format('%d %d %g %d', who, season, score, games) FROM season_scores`, nil, &text)
	})
	if want := "-7 202611 3.5 2"; err != nil || text != want {
		t.Errorf("got %q, %v, want %q", text, err, want)
	}
}
