package cluster

import (
	"encoding/json"
	"testing"

	"wamble/internal/profile"
	"wamble/internal/store/postgres/pglog"
)

// TestReportsOfNoShard: what another node reports of a shard that cannot be is ignored.
func TestReportsOfNoShard(t *testing.T) {
	t.Parallel()
	p := NewPeers(Options{Node: "a"})
	note := `{"default":{"-1":{"Players":3,"Open":true},"64":{"Players":3,"Open":true},"2":{"Players":5,"Open":true}}}`
	p.ApplyReports([]pglog.Node{{Name: "b", Note: note}})
	if got := p.Counts("default"); len(got) != 1 || got.Open() != 1<<2 || got.Sum().Players != 5 {
		t.Errorf("got %+v", got)
	}
}

// TestElsewherePlaying: watchers on another machine do not count as players; in the report of
// an older program, which does not tell them apart, all count.
func TestElsewherePlaying(t *testing.T) {
	t.Parallel()
	now, err := json.Marshal(Report{"default": {2: {ShardCount: profile.ShardCount{Players: 5, Idle: 3}}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		said string
		want int
	}{
		"this program":     {string(now), 2},
		"an older program": {`{"default":{"2":{"Players":5,"Bots":0,"Boards":9,"Free":4,"Spectators":3,"Offered":0,"Watched":true,"Open":true}}}`, 5},
	} {
		var r Report
		if err := json.Unmarshal([]byte(tc.said), &r); err != nil {
			t.Fatal(err)
		}
		if n := r["default"].Sum(); n.Playing() != tc.want || n.Players != 5 {
			t.Errorf("%s: %d of %d play, want %d of 5", name, n.Playing(), n.Players, tc.want)
		}
	}
}
