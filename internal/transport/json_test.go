package transport

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"wamble"
	"wamble/wire"
)

// A jsonRig is a port, and one client of it that speaks JSON.
type jsonRig struct {
	t    *testing.T
	port *Port
	conn *Conn
	peer wamble.Peer
}

func openJSON(t *testing.T) *jsonRig {
	t.Helper()
	r := &jsonRig{t: t, port: openPort(t, Options{}, nil)}
	u := &url.URL{Scheme: "ws", Host: r.port.TCPAddr().String(), Path: "/ws/json"}
	c, err := DialText(context.Background(), u, nil, Timing{})
	if err != nil {
		t.Fatal(err)
	}
	r.conn = c
	t.Cleanup(func() {
		c.Abort()
		_, err := c.Next()
		c.Finish(err)
	})
	return r
}

// asks sends an object and returns the packet that the port makes of it.
func (r *jsonRig) asks(object string) (h wire.Header, m wire.Message, ext wire.Ext) {
	r.t.Helper()
	r.conn.Send([]byte(object))
	got, _ := receive(r.t, r.port, 1, 0)
	r.peer = got[0].Peer
	var p wire.Packet
	if err := p.Decode(bytes.Clone(got[0].Data)); err != nil {
		r.t.Fatalf("%s: %v", object, err)
	}
	return p.Header, p.Message, p.Ext
}

// says sends a packet of the server and compares what the client reads.
func (r *jsonRig) says(h wire.Header, m wire.Message, want string, ext ...wire.Field) {
	r.t.Helper()
	b, err := wire.Append(nil, h, m, ext...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.port.Send(Packets{{Peer: r.peer, Data: b}})
	r.reads(want)
}

func (r *jsonRig) reads(want string) {
	r.t.Helper()
	got, err := r.conn.Next()
	if err != nil || string(got) != want {
		r.t.Errorf("got  %s (%v)\nwant %s", got, err, want)
	}
}

// TestJSONIsPackets: behind the port a client that speaks JSON is like any other. It need not
// repeat its token, count, acknowledge or join fragments, and every answer has the id of its
// request.
func TestJSONIsPackets(t *testing.T) {
	r := openJSON(t)
	token := wamble.Token{0xa0, 15: 0xaf}
	hello, _, ext := r.asks(`{"id":"h","ctrl":"CLIENT_HELLO","ext":{"hello.bot":1}}`)
	if bot, _ := ext.Int(wire.KeyHelloBot); hello.Ctrl != wire.CtrlClientHello || !hello.Token.IsZero() || bot != 1 {
		t.Errorf("hello %+v, bot %d", hello, bot)
	}
	r.says(wire.Header{Seq: hello.Seq}, wire.Ack{}, `{"id":"h","ctrl":"ACK","seq":`+number(hello.Seq)+`}`)
	r.says(wire.Header{Token: token, Board: 42, Seq: 1}, wire.ServerHello{FEN: wire.Text("8/8/8/8/8/8/8/8 w")},
		`{"id":"h","ctrl":"SERVER_HELLO","token":"a00000000000000000000000000000af","board_id":42,"payload":{"fen":"8/8/8/8/8/8/8/8 w"}}`)

	move, m, _ := r.asks(`{"id":2,"ctrl":"PLAYER_MOVE","board_id":42,"payload":{"uci":"e2e4"}}`)
	if uci := m.(*wire.PlayerMove).UCI.String(); move.Token != token || move.Board != 42 || move.Seq != hello.Seq+1 ||
		uci != "e2e4" {
		t.Errorf("move %+v %s", move, uci)
	}
	r.says(wire.Header{Token: token, Seq: 7}, wire.BoardUpdate{FEN: wire.Text("a push")},
		`{"ctrl":"BOARD_UPDATE","payload":{"fen":"a push"}}`)
	r.says(wire.Header{Token: token, Board: 42, Seq: move.Seq}, wire.Ack{},
		`{"id":2,"ctrl":"ACK","board_id":42,"seq":`+number(move.Seq)+`}`)
	r.says(wire.Header{Token: token, Board: 57, Seq: 8}, wire.BoardUpdate{FEN: wire.Text("x")},
		`{"id":2,"ctrl":"BOARD_UPDATE","board_id":57,"payload":{"fen":"x"},"ext":{"request.seq_num":`+number(move.Seq)+`}}`,
		wire.Int(wire.KeyRequestSeq, int64(move.Seq)))

	list, _, _ := r.asks(`{"id":3,"ctrl":"LIST_PROFILES","seq":900}`)
	if list.Seq != 900 {
		t.Errorf("the request has number %d, want the caller's", list.Seq)
	}
	r.says(wire.Header{Token: token, Seq: 900}, wire.Ack{}, `{"id":3,"ctrl":"ACK","seq":900}`)
	payload, err := wire.AppendPayload(nil, wire.ProfilesList{Names: wire.Text(strings.Repeat("abcdefgh,", 300))})
	if err != nil {
		t.Fatal(err)
	}
	transfer, err := wire.NewTransfer(1, payload)
	if err != nil {
		t.Fatal(err)
	}
	for i := range transfer.Chunks() {
		b, err := wire.Append(nil, wire.Header{Ctrl: wire.CtrlProfilesList, Token: token, Seq: 10},
			transfer.Fragment(i))
		if err != nil {
			t.Fatal(err)
		}
		r.port.Send(Packets{{Peer: r.peer, Data: b}})
	}
	r.reads(`{"id":3,"ctrl":"PROFILES_LIST","payload":{"names":"` + strings.Repeat("abcdefgh,", 300) + `"}}`)

	if alive, _, _ := r.asks(`{"ctrl":"ACK"}`); alive.Ctrl != wire.CtrlAck || alive.Seq != 0 || alive.Token != token {
		t.Errorf("sign of life %+v", alive)
	}
	if next, _, _ := r.asks(`{"ctrl":"LOGOUT","token":"b00000000000000000000000000000bf"}`); next.Seq != 901 ||
		next.Token == token {
		t.Errorf("logout %+v, want number 901 and the caller's token", next)
	}
}

func number(seq uint32) string { return strconv.FormatUint(uint64(seq), 10) }

// TestJSONAnswersInAnyOrder: ids follow the ACKs, not the requests.
func TestJSONAnswersInAnyOrder(t *testing.T) {
	j := newJSONSide()
	j.token = wamble.Token{1}
	var seqs []uint32
	for _, text := range []string{
		`{"id":1,"ctrl":"GET_LEADERBOARD"}`, `{"id":2,"ctrl":"GET_PLAYER_STATS"}`, `{"id":3,"ctrl":"GET_LEADERBOARD"}`,
		`{"id":4,"ctrl":"LOGIN_REQUEST"}`, `{"id":5,"ctrl":"LOGOUT"}`,
		`{"id":6,"ctrl":"GET_SESSIONS","flags":["UNRELIABLE"]}`, `{"ctrl":"SET_NAME"}`,
	} {
		o, err := wire.ParseObject([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := j.request(&o); err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, o.Seq)
	}
	for _, step := range []struct {
		ack int // number of the request that is acknowledged; -1: none
		m   wire.Message
		id  string
	}{
		{2, nil, "3"}, {0, nil, "1"}, {3, nil, "4"},
		{-1, &wire.LeaderboardData{}, "3"}, {-1, &wire.LeaderboardData{}, "1"}, {-1, &wire.LeaderboardData{}, ""},
		{-1, &wire.PlayerStatsData{}, ""}, // not acknowledged yet: of no request
		{1, nil, "2"}, {-1, &wire.PlayerStatsData{}, "2"},
		{-1, &wire.LoginFailed{Code: 1001}, "4"}, {4, nil, "5"}, {4, nil, ""},
		{-1, &wire.SessionsData{}, "6"}, {6, nil, ""}, {-1, &wire.PlayerStatsData{}, ""}, {-1, &wire.Error{Code: 1001}, ""},
	} {
		h := wire.Header{Token: j.token}
		if step.m == nil {
			step.m, h.Seq = wire.Ack{}, seqs[step.ack]
		}
		b, err := wire.Append(nil, h, step.m)
		if err != nil {
			t.Fatal(err)
		}
		want := `{"ctrl":`
		if step.id != "" {
			want = `{"id":` + step.id + `,"ctrl":`
		}
		if got := j.object(b); !strings.HasPrefix(string(got), want) {
			t.Errorf("%T: %s, want %s", step.m, got, want)
		}
	}
	if len(j.asked) != 0 {
		t.Errorf("still remembered: %+v", j.asked)
	}
}

// TestJSONRemembersLittle: however many requests are never answered, a connection keeps as
// many as may be in flight; the refusal of one over the limit has its id and the reason.
func TestJSONRemembersLittle(t *testing.T) {
	j := newJSONSide()
	for i := range 1000 {
		o := wire.Object{ID: []byte(strconv.Itoa(i)), Header: wire.Header{Ctrl: wire.CtrlListProfiles},
			Message: &wire.ListProfiles{}}
		if err := j.request(&o); err != nil {
			t.Fatal(err)
		}
	}
	if len(j.asked) != jsonAsked {
		t.Errorf("%d requests are remembered, want %d", len(j.asked), jsonAsked)
	}
	b, _ := wire.Append(nil, wire.Header{Flags: wire.FlagUnreliable}, wire.Error{Code: wamble.AccessDenied})
	if got, want := string(j.object(b)),
		`{"id":999,"ctrl":"ERROR","payload":{"code":1001,"reason":"too many requests: wait a second, then ask again"}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestJSONRefuses: an object that is no request is answered with its id, a code and a reason,
// and does not reach the loop; after several in a row the connection ends.
func TestJSONRefuses(t *testing.T) {
	r := openJSON(t)
	for _, c := range []struct{ object, want string }{
		{`{"id":1,"ctrl":"PLAYER_MOVE","board_id":1,"payload":{"uci":"e2e4"}}`, `{"id":1,"ctrl":"ERROR","payload":{"code":1007,"reason":"no session: say CLIENT_HELLO first"},"ext":{"request.seq_num":`},
		{`{"id":2,"ctrl":"BOARD_UPDATE"}`, `{"id":2,"ctrl":"ERROR","payload":{"code":1001,"reason":"BOARD_UPDATE is sent by servers"},`},
		{`{"id":3,"ctrl":"NACK"}`, `{"id":3,"ctrl":"ERROR","payload":{"code":1001,"reason":"there is no control code \"NACK\""},`},
		{`{"id":4,"ctrl":"0xEE"}`, `{"id":4,"ctrl":"ERROR","payload":{"code":1001,"reason":"there is no such control code"},`},
		{`{"id":5,"ctrl":"PLAYER_MOVE","payload":{"uci":"e2e4e5e6"}}`, `{"id":5,"ctrl":"ERROR","payload":{"code":1001,"reason":"payload of PLAYER_MOVE: `},
		{`{"id":6,`, `{"ctrl":"ERROR","payload":{"code":1001,"reason":"unexpected EOF"},`},
		{`hello`, `{"ctrl":"ERROR","payload":{"code":1001,"reason":"invalid character`},
		{`{"id":7,"ctrl":"SET_NAME","payload":{"name":"` + strings.Repeat("x", 2000) + `"},"token":"` + strings.Repeat("ab", 16) + `"}`, `{"id":7,"ctrl":"ERROR","payload":{"code":1001,"reason":"`},
	} {
		r.conn.Send([]byte(c.object))
		if got, err := r.conn.Next(); err != nil || !strings.HasPrefix(string(got), c.want) {
			t.Errorf("%.60s\n got %s (%v)\nwant %s", c.object, got, err, c.want)
		}
	}
	r.asks(`{"ctrl":"LIST_PROFILES"}`) // a good one begins the row again
	for range jsonFaults {
		r.conn.Send([]byte(`{}`))
		if _, err := r.conn.Next(); err != nil {
			t.Fatal(err)
		}
	}
	r.conn.Send([]byte(`{}`))
	if _, err := r.conn.Next(); err == nil || !strings.Contains(err.Error(), "(1002) too many messages") {
		t.Errorf("after %d faults: %v", jsonFaults, err)
	}
}

// TestJSONFrames: frames that are no text, and text that is no UTF-8, end the
// connection by the rules.
func TestJSONFrames(t *testing.T) {
	for _, c := range []struct {
		name  string
		frame []byte
		want  []byte
	}{
		{"binary", appendFrame(nil, opBinary, []byte("{}"), &maskKey{1}), closePayload(1002, "only text is spoken here")},
		{"not UTF-8", appendFrame(nil, opText, []byte("{\"id\":\"\xff\"}"), &maskKey{1}), closePayload(1007, "not UTF-8")},
		{"too long", appendFrame(nil, opText, make([]byte, MaxMessage+1), &maskKey{1})[:8], closePayload(1009, "message over 4096 bytes")},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := openPort(t, Options{}, nil)
			nc := dialTCPTest(t, p)
			io.WriteString(nc, request("GET /ws/json HTTP/1.1", nil))
			readHead(t, nc)
			nc.Write(c.frame)
			op, payload, err := newFrameReader(nc, false).next()
			if err != nil || op != opClose || !bytes.Equal(payload, c.want) {
				t.Errorf("%v %q, %v; want close %q", op, payload, err, c.want)
			}
		})
	}
}
