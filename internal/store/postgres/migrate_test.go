package postgres_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wamble"
	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/schema"
	"wamble/internal/store/storetest"
)

func TestMigrateFromNothing(t *testing.T) {
	t.Parallel()
	s := open(t, pgtest.Empty(t))
	st, err := s.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if st.Version != 0 || st.Adopt || len(st.Pending) != st.Latest || !strings.HasPrefix(st.Server, "PostgreSQL ") {
		t.Errorf("status before: got %+v", st)
	}
	var told []string
	err = s.Migrate(t.Context(), func(step schema.Step) {
		told = append(told, fmt.Sprintf("%s %d/%d %v", step.Name, step.Number, step.Of, step.Done))
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(told), 2*st.Latest; got != want {
		t.Errorf("progress: got %d calls, want %d: %q", got, want, told)
	}
	if got, want := told[1], fmt.Sprintf("001_initial_schema.sql 1/%d true", st.Latest); got != want {
		t.Errorf("progress: got %q, want %q", got, want)
	}
	st, err = s.Status(t.Context())
	if err != nil || st.Version != st.Latest || st.Pending != nil {
		t.Errorf("status after: got %+v, %v", st, err)
	}
	if err := s.Migrate(t.Context(),
		func(step schema.Step) { t.Errorf("a second run does %s", step.Name) }); err != nil {
		t.Error(err)
	}
}

func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	o := pgtest.Empty(t)
	var wg sync.WaitGroup
	for range 4 {
		s := open(t, o)
		wg.Go(func() {
			if err := s.Migrate(t.Context(), nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	all, err := postgres.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := pgtest.Query[int](t, o, `SELECT count(*) FROM schema_migrations`), len(all); got != want {
		t.Errorf("versions: got %d, want %d", got, want)
	}
}

func TestNewerDatabase(t *testing.T) {
	t.Parallel()
	o := pgtest.Migrated(t)
	pgtest.Execute(t, o, `INSERT INTO schema_migrations (version, name) VALUES (99, '099_tomorrow.sql')`)
	err := open(t, o).Migrate(t.Context(), nil)
	var newer *schema.Newer
	if !errors.As(err, &newer) || newer.Database != 99 || errors.Is(err, store.ErrTransient) {
		t.Fatalf("got %v, want *schema.Newer", err)
	}
	if text := err.Error(); !strings.Contains(text, "version 99") || !strings.Contains(text, "run a newer wamble") {
		t.Errorf("the message %q does not say what to do", text)
	}
}

// TestAdditivelyNewerDatabase: a program goes on with a database that a newer one has
// migrated, if it does not use what was added.
func TestAdditivelyNewerDatabase(t *testing.T) {
	t.Parallel()
	o := pgtest.Migrated(t)
	pgtest.Execute(t, o, `INSERT INTO schema_migrations (version, name, additive) VALUES (98, '098_today.sql', TRUE)`)
	s := open(t, o)
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if st, err := s.Status(t.Context()); err != nil || st.Version != 98 || st.Needs >= st.Latest || st.Pending != nil ||
		st.Refused() != nil {
		t.Errorf("got %+v, %v", st, err)
	}
	pgtest.Execute(t, o, `INSERT INTO schema_migrations (version, name) VALUES (99, '099_tomorrow.sql')`)
	var newer *schema.Newer
	if err := s.Migrate(t.Context(), nil); !errors.As(err, &newer) {
		t.Errorf("after a step that is not additive: got %v, want *schema.Newer", err)
	}
	pgtest.Execute(t, o, `ALTER TABLE schema_migrations DROP COLUMN additive`) // as programs before left it
	if st, err := s.Status(t.Context()); err != nil || st.Needs != 99 {
		t.Errorf("without marks: got %+v, %v", st, err)
	}
}

// originalRows are what the original leaves behind: full-move numbers of which
// two moves share one, a flush whose ids are sorted by token, a board number
// that no sequence gave out, payouts that were retried, times that are missing.
const originalRows = `
	INSERT INTO players (id, public_key, rating) VALUES (5, decode(repeat('07', 32), 'hex'), 1300);
	INSERT INTO sessions (id, token, player_id, trust_level, created_at) VALUES
		(1, decode(repeat('01', 16), 'hex'), 5, 10, NULL), (2, decode(repeat('02', 16), 'hex'), NULL, 0, NOW());
	INSERT INTO boards (id, fen, status, created_at) VALUES
		(40, 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1', 'RESERVED', '2026-01-01'), (41, 'x', 'ARCHIVED', '2026-01-02');
	INSERT INTO moves (board_id, session_id, move_uci, move_number, timestamp) VALUES
		(40, 1, 'e2e4', 1, '2026-01-01 10:00'),
		(40, 1, 'g1f3', 2, '2026-01-01 10:02'), (40, 2, 'e7e5', 2, '2026-01-01 10:01'),
		(40, 1, 'f1c4', 3, '2026-01-01 10:04'), (40, 2, 'b8c6', 3, '2026-01-01 10:03'),
		(41, 2, 'd2d4', 1, NULL);
	INSERT INTO reservations VALUES (40, 1, '2026-01-03');
	INSERT INTO game_results (board_id, winning_side) VALUES (41, 'w');
	INSERT INTO payouts (board_id, session_id, points_awarded) VALUES (41, 2, 12.5), (41, 2, 2.5), (41, 1, 1);
	INSERT INTO predictions (board_id, session_id, predicted_move_uci) VALUES (40, 2, 'e7e5')`

func originalDatabase(t *testing.T) postgres.Options {
	t.Helper()
	o := pgtest.Empty(t)
	all, err := postgres.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Execute(t, o, all[0].SQL)
	return o
}

func TestAdopt(t *testing.T) {
	t.Parallel()
	o := originalDatabase(t)
	pgtest.Execute(t, o, originalRows)
	o.Profile = "classic"
	s := open(t, o)
	if st, err := s.Status(t.Context()); err != nil || !st.Adopt || st.Version != 0 {
		t.Fatalf("status: got %+v, %v", st, err)
	}
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	b, err := s.Board(t.Context(), 40)
	if err != nil {
		t.Fatal(err)
	}
	var game []string
	for _, m := range b.Moves {
		game = append(game, fmt.Sprintf("%d %s", m.Ply, m.UCI))
	}
	if got, want := strings.Join(game, ", "), "1 e2e4, 2 e7e5, 3 g1f3, 4 b8c6, 5 f1c4"; got != want {
		t.Errorf("game: got %s, want %s", got, want)
	}
	if b.Profile != "classic" || b.Holder == nil || b.Holder.Session != 1 || b.Holder.White || b.Variant != -1 {
		t.Errorf("board: got %+v, holder %+v", b, b.Holder)
	}
	one, err := s.SessionByID(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := one.Stats, (wamble.Stats{Score: 1, Rating: 1300, Games: 1}); got != want || one.Trust != 10 ||
		one.Handle != "h_000000000005" {
		t.Errorf("session 1: got %+v", one)
	}
	if token := wamble.Token(bytes.Repeat([]byte{1}, 16)); one.Token != token.Hash() {
		t.Errorf("the token is stored as %x", one.Token)
	} else if got, err := s.Session(t.Context(), token); err != nil || got.ID != 1 {
		t.Errorf("by its token: got %+v, %v", got, err)
	}
	two, err := s.SessionByID(t.Context(), 2)
	if got, want := two.Stats, (wamble.Stats{Score: 15, Games: 2}); err != nil || got != want {
		t.Errorf("session 2: got %+v, %v, want %+v", got, err, want)
	}
	if b, err = s.Board(t.Context(), 41); err != nil || b.Result == nil || b.Result.Plies != 1 {
		t.Errorf("finished board: got %+v, %v", b, err)
	}
	for seq, least := range map[wamble.Sequence]int64{wamble.BoardIDs: 42, wamble.SessionIDs: 3, wamble.PlayerIDs: 6,
		wamble.PredictionIDs: 2} {
		blocks, err := s.Lease(t.Context(), seq, 1)
		if err != nil || blocks[0].First < least {
			t.Errorf("lease %v: got %v, %v, want at least %d", seq, blocks, err, least)
		}
	}
	page, err := s.Leaderboard(t.Context(), wamble.LeaderboardQuery{Limit: 2, ByRating: true})
	if err != nil || len(page.Rows) != 2 || page.Rows[0].Session != 1 {
		t.Errorf("leaderboard: got %+v, %v", page, err)
	}
}

func TestAdoptRefuses(t *testing.T) {
	t.Parallel()
	nobody := originalDatabase(t)
	half := originalDatabase(t)
	half.Profile = "classic"
	pgtest.Execute(t, half, `ALTER TABLE sessions DROP COLUMN trust_level; DROP TABLE predictions`)
	for _, c := range []struct {
		name string
		o    postgres.Options
		want []string
	}{
		{"no profile for its boards", nobody, []string{"which profile"}},
		{"half of the tables", half, []string{"sessions.trust_level", "predictions.id"}},
	} {
		err := open(t, c.o).Migrate(t.Context(), nil)
		if err == nil || errors.Is(err, store.ErrTransient) ||
			slices.ContainsFunc(c.want, func(w string) bool { return !strings.Contains(err.Error(), w) }) {
			t.Errorf("%s: got %v, want an error with %q", c.name, err, c.want)
		}
		if pgtest.Query[bool](t, c.o, `SELECT to_regclass('schema_migrations') IS NOT NULL`) {
			t.Errorf("%s: a refusal left a trace", c.name)
		}
	}
}

// TestLongMigration keeps Migrate waiting for another process, until its
// context ends.
func TestLongMigration(t *testing.T) {
	t.Parallel()
	o := pgtest.Empty(t)
	release := pgtest.Lock(t, o, `SELECT pg_advisory_lock(131260330699877)`)
	s := open(t, o)
	started := make(chan struct{})
	var once sync.Once
	done := make(chan error, 1)
	go func() {
		done <- s.Migrate(t.Context(), func(schema.Step) { once.Do(func() { close(started) }) })
	}()
	<-started
	select {
	case err := <-done:
		t.Fatalf("migrated under another's lock: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestMovesBecomeRuns: moves from before the migration are read as before, and the view shows
// them to the host.
func TestMovesBecomeRuns(t *testing.T) {
	t.Parallel()
	o := pgtest.Empty(t)
	all, err := postgres.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Execute(t, o, `CREATE TABLE schema_migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, adopted BOOLEAN NOT NULL DEFAULT FALSE, applied_at TIMESTAMPTZ NOT NULL DEFAULT NOW())`)
	for _, m := range all[:10] {
		pgtest.Execute(t, o, `SET wamble.profile = 'alpha'; `+m.SQL)
		pgtest.Execute(t, o, fmt.Sprintf(`INSERT INTO schema_migrations (version, name) VALUES (%d, '%s')`, m.Version,
			m.Name))
	}
	pgtest.Execute(t, o, `INSERT INTO sessions (id, token) VALUES (1, decode(repeat('01', 16), 'hex')); INSERT INTO boards (id, fen, status, profile) VALUES (40, 'x', 'ACTIVE', 'alpha')`)
	first := storetest.Epoch()
	pgtest.Execute(t, o, storetest.OldMoves(fmt.Sprintf("'%s'::timestamptz + ($ply - 1) * interval '1 second'",
		first.Format(time.RFC3339Nano))))
	s := open(t, o)
	if err := s.Migrate(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	storetest.HasOldMoves(t, s, first)
	if n := pgtest.Query[int](t, o,
		`SELECT count(*) FROM moves WHERE board_id = 40 AND move_uci = 'm' || move_number AND session_id = 1 AND id = (board_id << 20) + move_number`); n != 70 {
		t.Errorf("the view shows %d moves, want 70", n)
	}
	if n := pgtest.Query[int](t, o, `SELECT count(*) FROM move_runs`); n != 4 { // 32, 17, 1, 20
		t.Errorf("got %d runs, want 4", n)
	}
}
