package server

import (
	"strings"
	"testing"

	"wamble/internal/admin"
	"wamble/internal/observe"
)

// TestShardsFigures: metrics have a label for the shard, status and console show each shard
// beside the whole profile, and with one shard they show none.
func TestShardsFigures(t *testing.T) {
	t.Parallel()
	one := serve(t, Options{}, conf("")).ready()
	if got := one.metrics(); strings.Contains(got, "shard=") ||
		!strings.Contains(got, `wamble_up{profile="default"} 1`) {
		t.Errorf("metrics of one shard: %.200s", got)
	}
	if got := one.Status(t.Context()).Profiles[0].Shards; got != nil {
		t.Errorf("status of one shard: %+v", got)
	}
	h := serve(t, Options{}, conf(`(def shards 4)`)).ready()
	c := spread(t, h.address())
	for _, p := range c.players {
		if !p.move(t.Context()) {
			t.Fatal("a move failed")
		}
	}
	got := h.metrics()
	for _, want := range []string{
		`wamble_up{profile="default",shard="0"} 1`, `wamble_up{profile="default",shard="3"} 1`,
		`wamble_boards{profile="default",shard="2",status="RESERVED"}`,
		`wamble_move_sent_seconds_count{profile="default",shard="1"}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("metrics: there is no %s", want)
		}
	}
	if strings.Contains(got, `profile="default 1"`) {
		t.Error("metrics: a shard is called like a profile")
	}
	status := h.Status(t.Context()).Profiles[0]
	var sum admin.ShardStatus
	for i, k := range status.Shards {
		if !k.Ready || !k.Open || k.Moves == 0 {
			t.Errorf("shard %d: %+v", i, k)
		}
		sum.Moves, sum.Present, sum.Sessions = sum.Moves+k.Moves, sum.Present+k.Present, sum.Sessions+k.Sessions
	}
	if len(status.Shards) != 4 || sum.Moves != status.Moves || sum.Sessions != status.Sessions ||
		sum.Present != status.Present || int(sum.Moves) != len(c.players) {
		t.Errorf("status: %+v, the shards together %+v, %d players", status, sum, len(c.players))
	}
	if v := observe.LookAt(t.Context(), h.runtimes()).Profiles; len(v) != 1 || v[0].Name != "default" ||
		int(v[0].Moves) != len(c.players) {
		t.Errorf("vitals: %+v", v)
	}
}
