package profile

import (
	"testing"

	"wamble"
	"wamble/wire"
)

// TestCrowd: a player who requests it gets, with the answer to their move, how others have
// moved in that position; programs are not counted, and other players get nothing.
func TestCrowd(t *testing.T) {
	r := newRig(t, "(def min-boards 16) (def boards-per-player 4)")
	played := func(n int, token wamble.Token, uci string, ext ...wire.Field) string {
		t.Helper()
		u, _ := wire.MakeUCI(uci)
		s := r.p.sessions.Find(token)
		var p wire.Packet
		if err := p.Decode(r.reply(streamAt(n), encode(wire.Header{Token: token, Board: r.p.boards.Held(s.ID()).ID(),
			Seq: 3}, wire.PlayerMove{UCI: u}, ext...))); err != nil {
			t.Fatal(err)
		}
		if p.Ctrl != wire.CtrlBoardUpdate {
			t.Fatalf("%s is answered by %s", uci, p.Ctrl)
		}
		text, _ := p.Ext.Text(wire.KeyCrowdMoves)
		return text
	}
	bot, _ := r.botHello(9)
	var tokens []wamble.Token // all of them have fresh boards
	for n := range 5 {
		token, _ := r.joinBy(streamAt(n + 1))
		tokens = append(tokens, token)
	}
	asks := wire.Int(wire.KeyMoveCrowd, 1)
	if got := played(9, bot, "a2a3", asks); got != "" {
		t.Errorf("a program: got %q", got)
	}
	for i, tc := range []struct {
		uci  string
		ext  []wire.Field
		want string
	}{
		{"e2e4", []wire.Field{asks}, ""}, // the first player in this position
		{"d2d4", []wire.Field{asks}, "e2e4 1 d2d4 1"},
		{"d2d4", nil, ""},
		{"g1f3", []wire.Field{asks}, "d2d4 2 e2e4 1 g1f3 1"},
		{"g1f3", []wire.Field{wire.Int(wire.KeyMoveCrowd, 2)}, ""},
	} {
		if got := played(i+1, tokens[i], tc.uci, tc.ext...); got != tc.want {
			t.Errorf("%d, %s: got %q, want %q", i+1, tc.uci, got, tc.want)
		}
	}
}
