package host

import (
	"encoding/hex"
	"testing"
	"time"

	"wamble"
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
	had := len(st.Bans)
	if st.unban("08" + hex.EncodeToString(make([]byte, 15))); len(st.Bans) != had {
		t.Error("the ban of somebody else was lifted")
	}
	if st.unban("07" + hex.EncodeToString(make([]byte, 15))); len(st.Bans) != had-1 {
		t.Error("a ban is not lifted under another name of the same player")
	}
	for len(st.Bans) < mostBans {
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
