package server

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"wamble"
	"wamble/internal/store/postgres/pgtest"
)

// TestPast: the boards of a server are shown as they were at any second, from either
// database.
func TestPast(t *testing.T) {
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			text := conf(`(def min-boards 1) (def max-boards 1)`)
			if kind == "postgres" {
				text += postgresConf(pgtest.Migrated(t))
			}
			noon := time.Now().UTC().Truncate(time.Hour).Add(2 * time.Hour) // answers about the future are cached briefly
			var now atomic.Int64                                            // seconds after noon
			s := serve(t, Options{Clock: func() time.Time { return noon.Add(time.Duration(now.Load()) * time.Second) }},
				text).ready()
			p := join(t, "ws://"+s.Addresses().HTTP.String()+"/ws", wamble.Token{})
			for i, uci := range []string{"f2f3", "e7e5", "g2g4", "d8h4"} {
				now.Store(int64(10 * (i + 1)))
				if _, err := p.c.Play(t.Context(), uci); err != nil {
					t.Fatal(err)
				}
			}
			ask := func(path string) string { return fetch(t, "http://"+s.Addresses().HTTP.String()+path) }
			at := func(seconds int) string {
				return "/api/at/" + noon.Add(time.Duration(seconds)*time.Second).Format(time.RFC3339)
			}
			until(t, "the database has the end", func() bool { return strings.Contains(ask(at(30)), "checkmate") })
			for seconds, want := range map[int]string{
				-70: `"boards":[]}`,
				0:   `"ply":0,"moves":[{"after":10000,"uci":"f2f3"},{"after":20000,"uci":"e7e5"},{"after":30000,"uci":"g2g4"},{"after":40000,"uci":"d8h4"}]`,
				15:  `"fen":"rnbqkbnr/pppppppp/8/8/8/5P2/PPPPP1PP/RNBQKBNR b KQkq - 0 1","ply":1,"last":"f2f3","moves":[{"after":5000,"uci":"e7e5"}`,
				39:  `"ply":3,"last":"g2g4","moves":[{"after":1000,"uci":"d8h4"}],"end":{"after":1000,"winner":"black","reason":"checkmate"}}`,
			} {
				if got := ask(at(seconds)); !strings.HasPrefix(got, "200 ") || !strings.Contains(got, want) {
					t.Errorf("%d s after noon: got %s\nwant %s", seconds, got, want)
				}
			}
			if got, want := ask("/api/at"),
				fmt.Sprintf(`200 {"began":%q,`, noon.Format(time.RFC3339)); !strings.HasPrefix(got, want) {
				t.Errorf("got %s, want %s…", got, want)
			}
		})
	}
}
