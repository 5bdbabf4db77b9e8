package profile

import (
	"strings"
	"testing"

	"wamble"
	"wamble/wire"
)

// A client with an unknown token is told so, whatever its first request is and in how few
// bytes: an ACK alone would freeze it. A goodbye needs no answer; terms, which may be long,
// need a session.
func TestUnknownTokenIsAnswered(t *testing.T) {
	h := wire.Header{Token: wamble.Token{9}, Board: 1, Seq: 1}
	uci, err := wire.MakeUCI("e2e4")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[wire.Control]struct {
		packet []byte
		want   string
	}{
		wire.CtrlClientHello:    {encode(h, wire.ClientHello{}), "SERVER_HELLO"},
		wire.CtrlPlayerMove:     {encode(h, wire.PlayerMove{UCI: uci}), `ERROR 1007 "unknown player"`},
		wire.CtrlGetLegalMoves:  {encode(h, wire.GetLegalMoves{}), `ERROR 1007 "unknown player"`},
		wire.CtrlClientGoodbye:  {encode(h, wire.ClientGoodbye{}), ""},
		wire.CtrlListProfiles:   {encode(h, wire.ListProfiles{}), "PROFILES_LIST"},
		wire.CtrlGetProfileInfo: {encode(h, wire.GetProfileInfo{Name: wire.Text("x")}), "PROFILE_INFO"},
		wire.CtrlGetProfileTOS: {encode(h, wire.GetProfileTOS{Name: wire.Text("x")}),
			`ERROR 1007 "say hello first"`},
		wire.CtrlAcceptProfileTOS:      {encode(h, wire.AcceptProfileTOS{Name: wire.Text("x")}), `ERROR 1001`},
		wire.CtrlLoginRequest:          {encode(h, wire.LoginRequest{PublicKey: wire.Key{1}}), "LOGIN_FAILED"},
		wire.CtrlLogout:                {encode(h, wire.Logout{}), ""},
		wire.CtrlGetPlayerStats:        {encode(h, wire.GetPlayerStats{}), `ERROR 1007 "requester session not found"`},
		wire.CtrlGetLeaderboard:        {encode(h, wire.GetLeaderboard{}), `ERROR 1007 "requester session not found"`},
		wire.CtrlGetActiveReservations: {encode(h, wire.GetActiveReservations{}), "ACTIVE_RESERVATIONS_DATA"},
		wire.CtrlGetSessions:           {encode(h, wire.GetSessions{}), `ERROR 1007 "unknown player"`},
		wire.CtrlRevokeSessions:        {encode(h, wire.RevokeSessions{Session: 7}), `ERROR 1007 "unknown player"`},
		wire.CtrlSetName: {encode(h, wire.SetName{Name: wire.Text("Ann")}),
			`ERROR 1007 "unknown player"`},
		wire.CtrlSpectateGame:     {encode(h, wire.SpectateGame{}), `ERROR 1007 "unknown player"`},
		wire.CtrlSpectateStop:     {encode(h, wire.SpectateStop{}), "SPECTATE_UPDATE"},
		wire.CtrlSubmitPrediction: {encode(h, wire.SubmitPrediction{UCI: uci}), `ERROR 1007 "unknown player"`},
		wire.CtrlGetPredictions:   {encode(h, wire.GetPredictions{}), `ERROR 1007 "unknown player"`},
	}
	for _, row := range routes {
		t.Run(row.ctrl.String(), func(t *testing.T) {
			c, ok := cases[row.ctrl]
			if !ok {
				t.Fatal("no case")
			}
			r := newRig(t, "(def min-boards 1)")
			r.step(&Packet{Peer: peerAt(1), Data: c.packet})
			r.settle()
			r.answerLoads()
			bytes := 0
			for _, s := range r.sent {
				bytes += len(s.packet)
			}
			got := strings.Split(r.took(), "\n")
			if got[0] != "ACK 1" || (len(got) > 1) != (c.want != "") || len(got) > 1 &&
				!strings.HasPrefix(got[1], c.want) {
				t.Errorf("got %q, want an ACK and %q", got, c.want)
			}
			if strings.HasPrefix(c.want, "ERROR") && bytes > 3*len(c.packet) {
				t.Errorf("%d bytes for %d", bytes, len(c.packet))
			}
		})
	}
}

// An ERROR loses the number of its request first, then the other fields, then the
// end of its reason.
func TestFitError(t *testing.T) {
	fields := []wire.Field{wire.Int(wire.KeyRequestSeq, 7), wire.Int(wire.KeyErrorBlocking, 1)}
	for _, c := range []struct {
		room   int
		reason string
		fields int
	}{
		{wire.MaxPacket, "grüße", 2},
		{99, "grüße", 2},
		{98, "grüße", 1},
		{74, "grüße", 1},
		{73, "grüße", 0},
		{44, "grüße", 0},
		{40, "gr", 0}, // not half a letter
		{0, "", 0},
	} {
		reason, left := fitError(c.room, "grüße", fields)
		if reason != c.reason || len(left) != c.fields {
			t.Errorf("room for %d bytes: got %q with %d fields, want %q with %d", c.room, reason, len(left), c.reason,
				c.fields)
		}
		b := encode(wire.Header{Token: wamble.Token{9}}, wire.Error{Reason: wire.Text(reason)}, left...)
		if c.room >= wire.HeaderSize+3 && len(b) > c.room {
			t.Errorf("room for %d bytes: %d were made", c.room, len(b))
		}
	}
}
