package importer

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"wamble"
	"wamble/internal/store"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/sqlite"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// target is an empty store of ours.
func target(t testing.TB, pg bool) store.Store {
	t.Helper()
	type made interface {
		store.Store
		Close() error
	}
	var to made
	var err error
	if pg {
		o := pgtest.Migrated(t)
		to, err = postgres.Open(o)
	} else {
		var s *sqlite.Store
		if s, err = sqlite.Open(sqlite.Options{Path: filepath.Join(t.TempDir(), "games.db")}); err == nil {
			err = s.Migrate(t.Context(), nil)
		}
		to = s
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { to.Close() })
	return to
}

func (o *original) open(t testing.TB) *Source {
	t.Helper()
	global := ""
	if o.split {
		global = o.global.DSN()
	}
	s, err := Open(t.Context(), o.games.DSN(), global)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestStates imports each state of the original to each of our stores: everything is there that the state
// had, Verify finds nothing, and a second import does nothing.
func TestStates(t *testing.T) {
	t.Parallel()
	for i, st := range states {
		t.Run(st.name, func(t *testing.T) {
			t.Parallel()
			o := st.make(t)
			before := pgtest.Dump(t, o.games)
			source, to := o.open(t), target(t, i%2 == 0)
			opts := Options{To: to, Profile: "classic", Rating: 1200}
			counted, err := source.Import(t.Context(), Options{Profile: "classic"})
			if err != nil {
				t.Fatal("dry run:", err)
			}
			report, err := source.Import(t.Context(), opts)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(counted.Counts, report.Counts) {
				t.Errorf("the dry run counted %v, the import %v", counted.Counts, report.Counts)
			}
			for _, c := range report.Counts {
				switch {
				case c.Here == c.There:
				case c.What == "boards" && c.Here == c.There-1, c.What == "moves" && c.Here == c.There-2: // board 8
				case c.What == "predictions" && c.Here == c.There-1, c.What == "predictions" && !o.has["010"]:
				default:
					t.Errorf("%s: %d of %d came", c.What, c.Here, c.There)
				}
			}
			if !slices.ContainsFunc(report.Left, func(l Left) bool { return strings.Contains(l.Example, "board 8:") }) {
				t.Errorf("board 8, which lost a move, is not told: %+v", report.Left)
			}
			if problems, err := source.Verify(t.Context(), opts); err != nil || len(problems) > 0 {
				t.Errorf("verify: %q, %v", problems, err)
			}
			o.checkPlayer(t, st, to)
			again, err := o.open(t).Import(t.Context(), opts)
			if err != nil || !again.Before || !slices.Equal(again.Counts, report.Counts) {
				t.Errorf("again: %+v, %v", again, err)
			}
			if after := pgtest.Dump(t, o.games); len(after) != len(before) {
				t.Error("the original's database has changed")
			}
		})
	}
}

// checkPlayer looks at the player with a key as the server would.
func (o *original) checkPlayer(t *testing.T, st state, to store.Store) {
	t.Helper()
	ctx := t.Context()
	s, err := to.Session(ctx, wamble.Token(slices.Repeat([]byte{1}, 16)))
	if err != nil {
		t.Fatal("the token of session 3 is not valid any more:", err)
	}
	wantScore, wantTrust, wantName := 10.0, 4, "h_070707070707"
	if strings.Contains(st.before, "payouts") {
		wantScore = 0
	}
	if st.before != "" {
		wantTrust = 0
	}
	if o.has["015"] {
		wantName = "h_0123456789ab"
	}
	if s.Stats.Score != wantScore || s.Stats.Rating != 1312.5 || s.Trust != wantTrust && (!o.split || o.has["007"]) || s.Handle != wantName {
		t.Errorf("session 3: got %+v, want score %v, trust %d, name %s", s, wantScore, wantTrust, wantName)
	}
	var held []wamble.BoardID
	for b, err := range to.LiveBoards(ctx, "classic", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if b.Holder != nil && b.Holder.Session == s.ID {
			held = append(held, b.ID)
			var game []string
			for _, m := range b.Moves {
				game = append(game, m.UCI)
			}
			if got := strings.Join(game, " "); got != "e2e4 e7e5 g1f3 b8c6 f1c4" {
				t.Errorf("the held board has the moves %s", got)
			}
		}
	}
	if len(held) != 1 {
		t.Errorf("session 3 holds %v, want one board", held)
	}
	p, err := to.Player(ctx, s.Key)
	if err != nil || p.Stats.Score != wantScore || p.Stats.Games != s.Stats.Games || s.Stats.Games < 3 {
		t.Errorf("player: got %+v, %v", p, err)
	}
	if _, err := to.Player(ctx, wamble.PublicKey(slices.Repeat([]byte{8}, 32))); err != nil {
		t.Errorf("the player without sessions: %v", err)
	}
	if o.has["010"] {
		if s, err := to.Session(ctx, wamble.Token(slices.Repeat([]byte{2}, 16))); err != nil || s.Stats.PredictionScore != 1.5 {
			t.Errorf("predictions of session 4: got %+v, %v", s.Stats, err)
		}
	}
}

// interrupted fails one Apply after the batch was written, as when the answer to COMMIT is lost.
type interrupted struct {
	store.Store
	left int
}

var errInterrupted = errors.New("interrupted")

func (i *interrupted) Apply(ctx context.Context, b store.Batch) error {
	if i.left--; i.left < 0 {
		return errInterrupted
	}
	err := i.Store.Apply(ctx, b)
	if err == nil && i.left == 0 {
		return errInterrupted
	}
	return err
}

// TestInterrupted stops an import at every write and gives it again.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	o := states[len(states)-1].make(t)
	to := target(t, false)
	source := o.open(t)
	for n := 1; ; n++ {
		_, err := source.Import(t.Context(), Options{To: &interrupted{to, n}, Profile: "classic"})
		if err == nil {
			break
		}
		if !errors.Is(err, errInterrupted) || n > 50 {
			t.Fatal(n, err)
		}
	}
	if problems, err := source.Verify(t.Context(), Options{To: to, Profile: "classic"}); err != nil || len(problems) > 0 {
		t.Errorf("verify: %q, %v", problems, err)
	}
}

// TestSeveralDatabases: a key is one player over several databases of the original; a database comes once, and
// not after it has changed.
func TestSeveralDatabases(t *testing.T) {
	t.Parallel()
	blue, red := states[len(states)-1].make(t), states[3].make(t)
	pgtest.Execute(t, red.games, `UPDATE sessions SET token = substring(sha256(token) FROM 1 FOR 16)`)
	to := target(t, true)
	for profile, o := range map[string]*original{"blue": blue, "red": red} {
		opts := Options{To: to, Profile: profile, Rating: 1200}
		source := o.open(t)
		if _, err := source.Import(t.Context(), opts); err != nil {
			t.Fatal(profile, err)
		}
		if problems, err := source.Verify(t.Context(), opts); err != nil || len(problems) > 0 {
			t.Errorf("%s: verify: %q, %v", profile, problems, err)
		}
	}
	p, err := to.Player(t.Context(), wamble.PublicKey(slices.Repeat([]byte{7}, 32)))
	if err != nil || p.Stats.Score != 20 {
		t.Errorf("the player of both has %+v, %v, want 20 points", p.Stats, err)
	}
	if _, err := blue.open(t).Import(t.Context(), Options{To: to, Profile: "green"}); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("the same database for another profile: %v", err)
	}
	pgtest.Execute(t, blue.games, `INSERT INTO moves (board_id, session_id, move_uci, move_number) VALUES (1, 3, 'e2e4', 1)`)
	if _, err := blue.open(t).Import(t.Context(), Options{To: to, Profile: "blue"}); !errors.Is(err, ErrOther) {
		t.Errorf("a database that has changed: got %v, want ErrOther", err)
	}
}

// TestVerifyFinds changes what has come.
func TestVerifyFinds(t *testing.T) {
	t.Parallel()
	o := states[len(states)-1].make(t)
	for _, c := range []struct{ sql, want string }{
		{`UPDATE sessions SET total_score = total_score + 1 WHERE total_score = 10`, "session "},
		{`UPDATE boards SET fen = 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR b KQkq - 0 1' WHERE status = 'DORMANT'`, "it stands at"},
		{`DELETE FROM move_runs`, "its moves"},
		{`DELETE FROM reservations`, "another holder"},
		{`UPDATE game_results SET winning_side = 'd'`, "another result"},
	} {
		db := pgtest.Migrated(t)
		to, err := postgres.Open(db)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { to.Close() })
		source, opts := o.open(t), Options{To: to, Profile: "classic"}
		if _, err := source.Import(t.Context(), opts); err != nil {
			t.Fatal(err)
		}
		pgtest.Execute(t, db, c.sql)
		problems, err := source.Verify(t.Context(), opts)
		if err != nil || !strings.Contains(strings.Join(problems, "\n"), c.want) {
			t.Errorf("%s: found %q, %v, want %q", c.sql, problems, err, c.want)
		}
	}
}

func TestReplay(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, fen, moves string
		variant          int16
		want             string // "" if they lead there
	}{
		{"nothing", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1", "", -1, ""},
		{"another beginning", "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBN1 w Qkq - 0 1", "", -1, "its 0 moves lead to"},
		{"more behind a move", "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1", "e2e4x", -1, ""},
		{"a lost move", "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq e6 0 2", "e7e5", -1, "is not legal"},
		{"no FEN", "x", "", -1, "its FEN is wrong"},
		{"Chess960", "bbqnnrkr/pppppppp/8/8/8/4N3/PPPPPPPP/BBQ1NRKR b HFhf - 1 1", "d1e3", 0, ""},
	} {
		var moves []played
		for i, uci := range strings.Fields(c.moves) {
			moves = append(moves, played{1, uci, 1 + (i+1)/2})
		}
		if _, why := replay(c.variant, c.fen, moves); why != c.want && (c.want == "" || !strings.Contains(why, c.want)) {
			t.Errorf("%s: got %q, want %q", c.name, why, c.want)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		o    postgres.Options
		want string
	}{
		{"an empty database", pgtest.Empty(t), "is no database of the original"},
		{"one of ours", pgtest.Migrated(t), "is a database of this Wamble"},
		{"names elsewhere", states[len(states)-1].make(t).games, "--global"},
	} {
		if _, err := Open(t.Context(), c.o.DSN(), ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}
