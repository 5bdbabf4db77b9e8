package server

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"wamble"
	"wamble/client"
	"wamble/internal/importer"
	"wamble/internal/store/postgres"
	"wamble/internal/store/postgres/pgtest"
)

// originalWith makes a database of the original after its migration 008 with a global one. A player with a
// key and a token holds a board on which they have moved, and has won 12.5 points on another.
func originalWith(t *testing.T, token wamble.Token, key ed25519.PublicKey) (games, global postgres.Options) {
	t.Helper()
	games, global = pgtest.Empty(t), pgtest.Empty(t)
	first, err := postgres.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Execute(t, games, first[0].SQL+`; ALTER TABLE sessions DROP COLUMN trust_level, ADD COLUMN global_identity_id BIGINT;
		ALTER TABLE reservations ADD COLUMN started_at TIMESTAMPTZ DEFAULT NOW(), ADD COLUMN reserved_for_white BOOLEAN NOT NULL DEFAULT TRUE`)
	pgtest.Execute(t, games, fmt.Sprintf(`INSERT INTO players (id, public_key, rating) VALUES (1, decode('%x', 'hex'), 1333);
		INSERT INTO sessions (id, token, player_id, global_identity_id) VALUES (1, decode('%s', 'hex'), 1, 1), (2, decode(repeat('05', 16), 'hex'), NULL, 2);
		INSERT INTO boards (id, fen, status) VALUES (1, 'rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq e6 0 2', 'RESERVED'),
			(2, 'rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3', 'ARCHIVED'), (3, 'rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1', 'DORMANT');
		INSERT INTO moves (board_id, session_id, move_uci, move_number) VALUES (1, 1, 'e2e4', 1), (1, 2, 'e7e5', 2),
			(2, 2, 'f2f3', 1), (2, 1, 'e7e5', 2), (2, 2, 'g2g4', 2), (2, 1, 'd8h4', 3);
		INSERT INTO reservations (board_id, session_id, expires_at) VALUES (1, 1, NOW() + interval '10 days');
		INSERT INTO game_results (board_id, winning_side) VALUES (2, 'b'); INSERT INTO payouts (board_id, session_id, points_awarded) VALUES (2, 1, 12.5)`,
		[]byte(key), hex.EncodeToString(token[:])))
	pgtest.Execute(t, global, fmt.Sprintf(`CREATE TABLE global_identities (id BIGSERIAL PRIMARY KEY, public_key BYTEA UNIQUE);
		CREATE TABLE global_identity_handles (global_identity_id BIGINT PRIMARY KEY, handle VARCHAR(64) UNIQUE);
		INSERT INTO global_identities VALUES (1, decode('%x', 'hex')), (2, NULL); INSERT INTO global_identity_handles VALUES (1, 'h_0123456789ab')`, []byte(key)))
	return games, global
}

// TestImport: a player of the original finds their name, score, rating and board, by their token and by
// their key, in a new data directory and in one on which a server has run. The boards can be played on.
func TestImport(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{false, true} {
		ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
		defer cancel()
		public, private, _ := ed25519.GenerateKey(nil)
		token := wamble.Token(slices.Repeat([]byte{4}, 16))
		games, global := originalWith(t, token, public)
		dir, text := t.TempDir(), conf("")
		if before {
			serve(t, Options{Dir: dir}, text).ready().end()
		}
		c := loadConf(t, text)
		err := Import(ctx, c, dir, c.Default, func(db *SharedStore) error {
			source, err := importer.Open(ctx, games.DSN(), global.DSN())
			if err != nil {
				return err
			}
			defer source.Close()
			o := importer.Options{To: db.Store, Profile: c.Default.Name}
			if _, err = source.Import(ctx, o); err != nil {
				return err
			}
			problems, err := source.Verify(ctx, o)
			if len(problems) > 0 {
				t.Errorf("verify: %q", problems)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		h := serve(t, Options{Dir: dir}, text).ready()
		p := join(t, h.address(), token)
		if b := p.c.Board(); p.c.Token() != token || !strings.HasPrefix(b.FEN, "rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w") {
			t.Errorf("with the token: board %+v", b)
		}
		if _, err := p.c.Play(ctx, "g1f3"); err != nil {
			t.Errorf("a move on the board: %v", err)
		}
		q := join(t, h.address(), wamble.Token{})
		if _, err := q.c.Login(ctx, private); err != nil {
			t.Fatal("login:", err)
		}
		for name, who := range map[string]*player{"token": p, "key": q} {
			until(t, "with the "+name+" the player is who they were", func() bool {
				stats, err := who.c.Stats(ctx, client.StatsOf{})
				return err == nil && stats.Score == 12.5 && stats.Handle == "h_0123456789ab" && stats.Games == 2
			})
		}
		page, err := q.c.Leaderboard(ctx, client.LeaderboardPage{ByRating: true, Size: 5})
		if err != nil || len(page.Rows) == 0 || page.Rows[0].Rating != 1333 {
			t.Errorf("the leaderboard: %+v, %v", page, err)
		}
		h.end()
		db := openSQLite(t, dir)
		for b, err := range db.Games(ctx, wamble.GameFilter{}) {
			if err != nil {
				t.Fatal(err)
			}
			if len(b.Moves) == 3 && b.Moves[2].UCI != "g1f3" {
				t.Errorf("the game goes on with %+v", b.Moves[2])
			}
		}
	}
}

// TestImportBesideServer: no rows are brought to a profile that is served.
func TestImportBesideServer(t *testing.T) {
	t.Parallel()
	dir, text := t.TempDir(), conf("")
	h := serve(t, Options{Dir: dir}, text).ready()
	c := loadConf(t, text)
	err := Import(t.Context(), c, dir, c.Default, func(*SharedStore) error { t.Error("it is imported"); return nil })
	if err == nil || !strings.Contains(err.Error(), "stop it first") {
		t.Errorf("got %v", err)
	}
	h.end()
}
