package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"wamble/internal/admin"
	"wamble/internal/profile"
	"wamble/internal/store/postgres/pgtest"
)

// TestReshardKeepsRestrictions: with the journal in PostgreSQL one shard keeps the host's
// restrictions in the journal, four keep them in the database. They are the same before and
// after the number is changed, and a restriction that was lifted meanwhile does not come
// back.
func TestReshardKeepsRestrictions(t *testing.T) {
	t.Parallel()
	db := pgtest.Migrated(t)
	dir := t.TempDir()
	text := func(shards int) string { return shared(db, "a") + fmt.Sprintf("(def shards %d)\n", shards) }
	reshard := func(n int) {
		t.Helper()
		c := loadConf(t, text(n))
		for range 2 { // the second time there is nothing left to do
			if err := Reshard(t.Context(), c, dir, c.Default, n); err != nil {
				t.Fatal(err)
			}
		}
	}
	restricted := func(s *here, when string, noPredictions bool, announced string, bans ...string) {
		t.Helper()
		var got []string
		for _, b := range s.first().restrictions.Bans() {
			got = append(got, b.Whom)
		}
		if !slices.Equal(got, bans) {
			t.Errorf("%s: bans %q, want %q", when, got, bans)
		}
		if got := s.first().restrictions.Brownout(); got != (profile.Brownout{NoPredictions: noPredictions}) {
			t.Errorf("%s: a brown-out of %+v", when, got)
		}
		var list json.RawMessage
		if err := admin.Ask(t.Context(), dir, "announcements", nil, &list); err != nil {
			t.Fatal(err)
		}
		var all []struct{ Text string }
		if err := json.Unmarshal(list, &all); err != nil || len(all) != 1 || all[0].Text != announced {
			t.Errorf("%s: announced are %s, want %q", when, list, announced)
		}
	}
	until := time.Now().Add(time.Hour)

	s := serve(t, Options{Dir: dir}, text(1)).ready()
	s.command("ban", admin.Arguments{Whom: "192.0.2.1"})
	s.command("ban", admin.Arguments{Whom: "192.0.2.2", Profile: "default"})
	s.command("brownout", admin.Arguments{Brownout: profile.Brownout{NoPredictions: true}})
	s.command("announce", admin.Arguments{Text: "we move", Until: until})
	restricted(s, "one shard", true, "we move", "192.0.2.1", "192.0.2.2")
	s.end()

	reshard(4)
	s = serve(t, Options{Dir: dir}, text(4)).ready()
	restricted(s, "four shards", true, "we move", "192.0.2.1", "192.0.2.2")
	s.command("unban", admin.Arguments{Whom: "192.0.2.1"})
	s.command("unban", admin.Arguments{Whom: "192.0.2.2"})
	s.command("ban", admin.Arguments{Whom: "192.0.2.3"})
	s.command("brownout", admin.Arguments{})
	s.command("announce", admin.Arguments{Clear: true})
	s.command("announce", admin.Arguments{Text: "we have moved", Until: until})
	restricted(s, "changed", false, "we have moved", "192.0.2.3")
	s.end()

	reshard(1)
	s = serve(t, Options{Dir: dir}, text(1)).ready()
	restricted(s, "one shard again", false, "we have moved", "192.0.2.3")
}
