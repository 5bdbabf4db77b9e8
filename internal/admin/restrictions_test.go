package admin

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"wamble"
	"wamble/internal/profile"
)

// TestRestricted: bans are bounded, end by themselves, and are lifted under any name
// of the player.
func TestRestricted(t *testing.T) {
	now := time.Unix(1e9, 0)
	var st Restricted
	for _, b := range []Ban{
		{Whom: "192.0.2.1", Until: now.Add(time.Second)}, {Whom: "192.0.2.2"}, {Whom: "192.0.2.1", Text: "again"},
	} {
		if err := st.ban(b, now); err != nil {
			t.Fatal(err)
		}
	}
	if len(st.Bans) != 2 || st.Bans[1].Text != "again" {
		t.Errorf("got %+v", st.Bans)
	}
	st.Bans[0].Until = now
	if err := st.ban(Ban{Whom: "192.0.2.3"}, now.Add(time.Minute)); err != nil || len(st.Bans) != 2 {
		t.Errorf("a ban that is over is kept: %+v, %v", st.Bans, err)
	}
	if got := len(st.inputs(true, now)); got != 3 {
		t.Errorf("a profile that starts is told %d things, want 3", got)
	}
	st.ban(Ban{Whom: wamble.Token{7}.String()}, now)
	if hash := (wamble.Token{7}).Hash(); st.Bans[len(st.Bans)-1].Whom != "hash:"+hex.EncodeToString(hash[:]) {
		t.Errorf("the token itself is kept: %+v", st.Bans)
	}
	had := len(st.Bans)
	if st.unban("08" + hex.EncodeToString(make([]byte, 15))); len(st.Bans) != had {
		t.Error("the ban of somebody else was lifted")
	}
	if st.unban("07" + hex.EncodeToString(make([]byte, 15))); len(st.Bans) != had-1 {
		t.Error("a ban is not lifted under another name of the same player")
	}
	st.ban(Ban{Whom: wamble.Token{7}.String()}, now)
	if st.unban(st.Bans[len(st.Bans)-1].Whom); len(st.Bans) != had-1 {
		t.Error("a ban is not lifted under the name that is listed")
	}
	for len(st.Bans) < maxBans {
		st.Bans = append(st.Bans, Ban{Whom: "x"})
	}
	if err := st.ban(Ban{Whom: "192.0.2.4"}, now); err == nil {
		t.Error("there is no bound")
	}
	key := hex.EncodeToString(make([]byte, 31)) + "01"
	for text, ok := range map[string]bool{
		"192.0.2.1": true, "2001:db8::/32": true, key: true, wamble.Token{1}.String(): true, key[:30] + "01": true,
		"": false, key[:32]: false, "x": false, wamble.Token{}.String(): false, key[2:]: false,
	} {
		if _, err := parsePlayer(text); (err == nil) != ok {
			t.Errorf("%q: got %v", text, err)
		}
	}
}

// TestBanEverywhere: a ban in all profiles holds in every one unless it was lifted
// there, and a new one holds there again.
func TestBanEverywhere(t *testing.T) {
	told := 0
	h := standIn(t, &told)
	profile := func(name string) *Restrictions {
		t.Helper()
		rs, err := h.Global.Of(name)
		if err != nil {
			t.Fatal(err)
		}
		return rs
	}
	do := func(command, args string) Counts {
		t.Helper()
		counts, err := h.do(t.Context(), h.command(command), Call{Args: json.RawMessage(args)})
		if err != nil {
			t.Fatalf("%s %s: %v", command, args, err)
		}
		return counts.(Counts)
	}
	bans := func(when string, rs *Restrictions, want int) {
		t.Helper()
		if got := len(rs.Bans()); got != want {
			t.Errorf("%s: got %d bans, want %d", when, got, want)
		}
		if got := len(rs.Inputs()) - 1; got != want { // and the brown-out
			t.Errorf("%s: a profile that starts is told of %d bans, want %d", when, got, want)
		}
	}
	blitz := h.RunningProfiles()[0].Restrictions
	do("ban", `{"whom": "192.0.2.1", "profile": "blitz"}`)
	do("ban", `{"whom": "192.0.2.1"}`)
	do("ban", `{"whom": "192.0.2.2"}`)
	bans("after the bans", blitz, 2)
	bans("a profile that comes later", profile("later"), 2)
	if n := do("unban", `{"whom": "192.0.2.1", "profile": "blitz"}`)["blitz"]; n != 1 {
		t.Errorf("%d bans were lifted in one profile", n)
	}
	bans("after it was lifted in one", blitz, 1)
	bans("read again", profile("blitz"), 1)
	bans("elsewhere", profile("later"), 2)
	if n := do("unban", `{"whom": "192.0.2.2"}`)["blitz"]; n != 1 {
		t.Errorf("%d bans were lifted in all profiles", n)
	}
	if n := do("unban", `{"whom": "192.0.2.2"}`)["blitz"]; n != 0 {
		t.Errorf("%d bans were lifted twice", n)
	}
	bans("after one was lifted in all", profile("later"), 1)
	do("unban", `{"whom": "192.0.2.1"}`)
	do("ban", `{"whom": "192.0.2.1"}`)
	bans("banned again", blitz, 1)
	bans("banned again, read again", profile("blitz"), 1)
}

// TestBansSince: a running profile gets the changes of others, and a change older than its
// own state is ignored.
func TestBansSince(t *testing.T) {
	told := 0
	h := standIn(t, &told)
	rs := h.RunningProfiles()[0].Restrictions
	texts := func() string {
		text, err := rs.store.Read(rs.name)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	change := func(to func(*Restricted) error) {
		t.Helper()
		if _, err := rs.Change(t.Context(), to); err != nil {
			t.Fatal(err)
		}
	}
	now := time.Now()
	change(func(r *Restricted) error { return r.ban(Ban{Whom: "192.0.2.1", Text: "one"}, now) })
	first, before := texts(), rs.Bans()
	change(func(r *Restricted) error {
		r.unban("192.0.2.1")
		r.Brownout.NoPredictions = true
		r.Announced = []Announced{{Standing: profile.Standing{ID: 7, Until: now.Add(time.Hour)}}}
		return r.ban(Ban{Whom: "192.0.2.2", Text: "two"}, now)
	})
	if err := rs.Update(first); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, in := range append(rs.State(), rs.BansSince(before)...) {
		switch in := in.(type) {
		case *profile.Ban:
			said = append(said, "ban "+in.Text)
		case *profile.Unban:
			said = append(said, "unban")
		case *profile.SetStanding:
			said = append(said, fmt.Sprint("stand ", len(in.All)))
		case *profile.SetBrownout:
			said = append(said, fmt.Sprint("brown-out ", in.Brownout.NoPredictions))
		}
	}
	if got, want := strings.Join(said, ", "), "brown-out true, stand 1, unban, ban two"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := rs.BansSince(rs.Bans()); len(got) != 0 {
		t.Errorf("got %v without a change", got)
	}
	if err := rs.Update(`{"Bans": []}`); err != nil || len(rs.Bans()) != 0 {
		t.Errorf("what an older program has written is not heard: %v, %v", rs.Bans(), err)
	}
}
