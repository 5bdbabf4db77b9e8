package server

import (
	"testing"

	"wamble"
	"wamble/internal/store"
	"wamble/internal/store/postgres/pgtest"
	"wamble/internal/store/sqlite"
)

// TestNumbersBeginSmall: each of three profiles on a fresh store, as in the sample
// configuration, begins with low numbers.
func TestNumbersBeginSmall(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf(`(def min-boards 4) (def advertise 1) (defprofile red ((def advertise 1))) (defprofile blue ((def advertise 1))) (defprofile green ((def advertise 1)))`)).ready()
	for _, p := range s.Profiles() {
		if id := join(t, s.at(p.Profile), wamble.Token{}).c.Board().ID; id > 4*256 {
			t.Errorf("the first board of %s is %d", p.Profile, id)
		}
	}
}

// TestNumbersSuffice: numbers that are requested during a start arrive, too, so that a
// profile with more boards than the first lease of numbers goes on growing.
func TestNumbersSuffice(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf(`(def min-boards 60)`)).ready()
	for range 80 {
		join(t, s.at(s.Profiles()[0].Profile), wamble.Token{})
	}
}

// TestNumbersGoOn: after a stop in order the numbers of new boards and guests continue. Of
// two profiles of one store none ever gets a number of the other.
func TestNumbersGoOn(t *testing.T) {
	const two = `(def advertise 1) (defprofile red ((def advertise 1))) (defprofile blue ((def advertise 1)))`
	for _, kind := range []string{"sqlite", "postgres"} {
		for _, profiles := range []string{"", two} {
			name := kind
			if profiles != "" {
				name += ", two profiles"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				dir, text := t.TempDir(), conf(`(def min-boards 1) (def boards-per-player 1)`+profiles)
				read := func() store.Queries {
					s, err := sqlite.Open(sqlite.Options{Path: dir + "/games.db"})
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { s.Close() })
					return s
				}
				if kind == "postgres" {
					db := pgtest.Migrated(t)
					text += postgresConf(db)
					read = func() store.Queries { return openPostgres(t, db) }
				}
				const lives, players = 3, 4
				var guest wamble.SessionID // the highest
				for n := range lives {
					s := serve(t, Options{Dir: dir}, text).ready()
					for range players * (n + 1) { // more than there are boards: new ones are made
						for _, p := range s.Profiles() {
							one := join(t, s.at(p.Profile), wamble.Token{})
							one.move(t.Context())
							guest = max(guest, wamble.SessionID(one.stats(t.Context()).Session))
						}
					}
					s.end()
					if dead := s.runner.Stats().DeadLetters; dead > 0 {
						t.Errorf("%d dead letters: a number was given out twice", dead)
					}
				}
				boards, highest := map[string]int{}, wamble.BoardID(0)
				for b, err := range read().Games(t.Context(), wamble.GameFilter{}) {
					if err != nil {
						t.Fatal(err)
					}
					boards[b.Profile]++
					highest = max(highest, b.ID)
				}
				t.Logf("boards %v, the highest is %d, the last guest %d", boards, highest, guest)
				if profiles == "" && (highest > 128 || guest > 128) {
					t.Errorf("%v boards have numbers up to %d, guests up to %d", boards, highest, guest)
				}
				if profiles != "" && (boards["red"] < players || boards["blue"] < players) {
					t.Errorf("the boards of each profile are %v", boards)
				}
			})
		}
	}
}

// TestNumbersAfterACrash: a kill loses the rest of a lease, which is little: the numbers of
// guests and boards that people read stay small.
func TestNumbersAfterACrash(t *testing.T) {
	t.Parallel()
	dir, text := t.TempDir(), staying(t, conf(`(def min-boards 1) (def boards-per-player 2)`))
	const lives, players, lease = 4, 5, 256
	for n := range lives {
		s := spawn(t, dir, text)
		var guest wamble.SessionID
		var board wamble.BoardID
		for range players {
			p := join(t, s.address(), wamble.Token{})
			p.move(t.Context())
			guest, board = max(guest, wamble.SessionID(p.stats(t.Context()).Session)), max(board, p.c.Board().ID)
		}
		t.Logf("life %d: guests up to %d, boards up to %d", n+1, guest, board)
		if most := n*lease + 4*(n+1)*players; int(guest) > most || int(board) > most {
			t.Errorf("after %d crashes a guest has the number %d and a board %d, want at most %d", n, guest, board,
				most)
		}
		s.kill()
	}
}
