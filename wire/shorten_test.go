package wire

import (
	"strings"
	"testing"
)

// TestShorten: what an old client loses first.
func TestShorten(t *testing.T) {
	const all = "session.caps last_move.from last_move.to request.seq_num board.fen board.version board.own_move cluster.home"
	for n, want := range map[int]string{
		9: all,
		8: all,
		7: "session.caps last_move.from last_move.to board.fen board.version board.own_move cluster.home",
		6: "session.caps last_move.from last_move.to board.fen board.version cluster.home",
		5: "session.caps last_move.from last_move.to board.fen board.version",
		3: "session.caps last_move.from last_move.to",
		2: "session.caps last_move.from",
		0: "",
	} {
		var e Ext
		for _, key := range strings.Fields(all) {
			e.AddInt(key, 1)
		}
		var keys []string
		for _, f := range e.Shorten(n) {
			keys = append(keys, f.Key)
		}
		if got := strings.Join(keys, " "); got != want {
			t.Errorf("to %d: got %q, want %q", n, got, want)
		}
	}
	if (Ext{Int(KeyStatsRequestID, 1), Int("unknown", 1)}).HasOurs() ||
		!(Ext{Int(KeyStatsRequestID, 1), Int(KeyMoveCrowd, 0)}).HasOurs() {
		t.Error("move.crowd alone is ours")
	}
}
