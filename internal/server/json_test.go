package server

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"testing"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/internal/profile"
	"wamble/internal/transport"
	"wamble/wire"
)

// A jsonPlayer is a client of a real server that speaks JSON.
type jsonPlayer struct {
	t    *testing.T
	conn *transport.Conn
	doc  described // of the messages
	next int

	history history // for the judge
}

// object is a JSON object that the server sends.
type object struct {
	ID      json.RawMessage            `json:"id"`
	Ctrl    string                     `json:"ctrl"`
	Flags   []string                   `json:"flags"`
	Token   string                     `json:"token"`
	Board   uint64                     `json:"board_id"`
	Seq     uint32                     `json:"seq"`
	Payload map[string]any             `json:"payload"`
	Ext     map[string]json.RawMessage `json:"ext"`
}

func (o *object) text(key string) (s string) {
	json.Unmarshal(o.Ext[key], &s)
	return s
}

func joinJSON(t *testing.T, s *here) *jsonPlayer {
	t.Helper()
	u := &url.URL{Scheme: "ws", Host: s.Addresses().HTTP.String(), Path: "/ws/json"}
	c, err := transport.DialText(context.Background(), u, nil, transport.Timing{Idle: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Abort()
		_, err := c.Next()
		c.Finish(err)
	})
	return &jsonPlayer{t: t, conn: c, history: history{},
		doc: describedBy(t, "http://"+s.Addresses().HTTP.String()+"/api/asyncapi.json")}
}

// read returns the next object.
func (p *jsonPlayer) read() (o object) {
	p.t.Helper()
	text, err := p.conn.Next()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := json.Unmarshal(text, &o); err != nil {
		p.t.Fatalf("%s: %v", text, err)
	}
	p.check(o.Ctrl, text)
	return o
}

// check compares a message with its schema.
func (p *jsonPlayer) check(ctrl string, text []byte) {
	p.t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		p.t.Fatal(err)
	}
	if wrong := p.doc.conforms(p.doc.at(p.t, "channels", "json", "messages", ctrl, "payload"), v, ctrl); wrong != "" {
		p.t.Errorf("%s: %s", text, wrong)
	}
}

// ask sends a request and returns its answer: the object with its id, besides the ACK.
func (p *jsonPlayer) ask(request map[string]any) object {
	p.t.Helper()
	p.next++
	request["id"] = p.next
	id, _ := json.Marshal(p.next)
	text, err := json.Marshal(request)
	if err != nil {
		p.t.Fatal(err)
	}
	p.check(request["ctrl"].(string), text)
	if err := p.conn.Send(text); err != nil {
		p.t.Fatal(err)
	}
	ctrl, _ := wire.ParseControl(request["ctrl"].(string))
	info, _ := ctrl.Info()
	for {
		if o := p.read(); bytes.Equal(o.ID, id) && (o.Ctrl != "ACK" || len(info.Replies) == 0) {
			return o
		}
	}
}

// move plays the first legal move on a board that was shown, and returns the answer.
func (p *jsonPlayer) move(at object) object {
	p.t.Helper()
	position, err := chess.ParseFEN(at.text("board.fen"))
	if err != nil {
		p.t.Fatalf("%+v: %v", at, err)
	}
	uci := position.LegalMoves(nil)[0].String()
	p.history.add(0, wamble.BoardID(at.Board), clock.Add(1), moveOp{position.Ply() + 1, uci, true})
	return p.ask(map[string]any{"ctrl": "PLAYER_MOVE", "board_id": at.Board, "payload": map[string]any{"uci": uci}})
}

// movesMade returns how many moves the first profile has accepted.
func (h *here) movesMade() (n uint64) {
	h.t.Helper()
	if !h.first().shards[0].runtime.Do(h.t.Context(), func(p *profile.Profile) { n = p.Stats().Moves }) {
		h.t.Fatal("the profile does not answer")
	}
	return n
}

// TestJSONPlays: a player who speaks JSON plays, comes back with their token to the same
// board, and plays on; an illegal move is refused with its code.
func TestJSONPlays(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf("")).ready()
	p := joinJSON(t, s)
	at := p.ask(map[string]any{"ctrl": "CLIENT_HELLO"})
	token := at.Token
	if at.Ctrl != "SERVER_HELLO" || len(token) != 32 || at.Board == 0 {
		t.Fatalf("hello: %+v", at)
	}
	for range 3 {
		if at = p.move(at); at.Ctrl != "BOARD_UPDATE" || at.Board == 0 {
			t.Fatalf("move: %+v", at)
		}
	}
	if moves := s.movesMade(); moves != 3 {
		t.Errorf("%d moves were made, want 3", moves)
	}
	p.conn.Close(transport.CloseNormal, "")
	back := joinJSON(t, s)
	again := back.ask(map[string]any{"ctrl": "CLIENT_HELLO", "token": token})
	if again.Token != token || again.Board != at.Board || again.text("board.fen") != at.text("board.fen") {
		t.Errorf("came back to %+v, want %+v", again, at)
	}
	if refused := back.ask(map[string]any{"ctrl": "PLAYER_MOVE", "board_id": at.Board,
		"payload": map[string]any{"uci": "a1a1"}}); refused.Ctrl != "ERROR" || refused.Payload["code"] != 1009.0 {
		t.Errorf("an illegal move: %+v", refused)
	}
	if at = back.move(again); at.Ctrl != "BOARD_UPDATE" {
		t.Errorf("move after coming back: %+v", at)
	}
}

// TestJSONRepeats: a player whose connection broke after a move sends it again under its
// number on the next one, and gets the answer; the move is made once. This holds whether
// their hello continues the numbers or leaves them to the server.
func TestJSONRepeats(t *testing.T) {
	t.Parallel()
	for name, hello := range map[string]map[string]any{"counts on": {"seq": 12}, "without a number": {}} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, Options{}, conf("")).ready()
			p := joinJSON(t, s)
			at := p.ask(map[string]any{"ctrl": "CLIENT_HELLO", "seq": 10})
			token, move := at.Token, map[string]any{"ctrl": "PLAYER_MOVE", "seq": 11, "board_id": at.Board,
				"payload": map[string]any{"uci": "e2e4"}}
			next := p.ask(move)
			if next.Ctrl != "BOARD_UPDATE" {
				t.Fatalf("move: %+v", next)
			}
			p.conn.Close(transport.CloseNormal, "")
			back := joinJSON(t, s)
			hello["ctrl"], hello["token"] = "CLIENT_HELLO", token
			if again := back.ask(hello); again.Board != next.Board {
				t.Errorf("came back to %+v, want %+v", again, next)
			}
			for range 2 {
				if again := back.ask(move); again.Ctrl != "BOARD_UPDATE" || again.Board != next.Board {
					t.Errorf("the move again: %+v, want %+v", again, next)
				}
			}
			if moves := s.movesMade(); moves != 1 {
				t.Errorf("%d moves were made, want 1", moves)
			}
			if next = back.move(next); next.Ctrl != "BOARD_UPDATE" {
				t.Errorf("the next move: %+v", next)
			}
		})
	}
}

// login signs the player in with a new key, and returns both answers.
func (p *jsonPlayer) login(token string) (challenge, success object) {
	p.t.Helper()
	public, identity, err := ed25519.GenerateKey(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	key := hex.EncodeToString(public)
	challenge = p.ask(map[string]any{"ctrl": "LOGIN_REQUEST", "payload": map[string]any{"public_key": key}})
	text, _ := challenge.Payload["challenge"].(string)
	asked, err := hex.DecodeString(text)
	if err != nil || len(asked) != 32 {
		p.t.Fatalf("challenge: %+v, %v", challenge, err)
	}
	session, err := hex.DecodeString(token)
	if err != nil || len(session) != 16 {
		p.t.Fatalf("token %q: %v", token, err)
	}
	message := wamble.LoginMessage(wamble.PublicKey(public), wamble.Token(session), [32]byte(asked))
	signature := hex.EncodeToString(ed25519.Sign(identity, message[:]))
	return challenge, p.ask(map[string]any{"ctrl": "LOGIN_REQUEST",
		"payload": map[string]any{"public_key": key, "signature": signature}})
}

// TestJSONAnswersEveryRequest: each request of the protocol, sent as JSON to a real server by
// a player who may make it, is answered under its id by all that wire's table names, and all
// of it is as /api/asyncapi.json describes it.
func TestJSONAnswersEveryRequest(t *testing.T) {
	t.Parallel()
	s := serve(t, Options{}, conf(`(def tos-text "be kind") (def prediction-mode "streak")`)).ready()
	payloads := map[wire.Control]map[string]any{
		wire.CtrlGetProfileInfo:   {"name": "default"},
		wire.CtrlGetLegalMoves:    {"square": 12},
		wire.CtrlGetLeaderboard:   {"type": 1, "limit": 16},
		wire.CtrlSubmitPrediction: {"uci": "e2e4", "parent": 0},
		wire.CtrlSetName:          {"name": "Ann"},
	}
	identified := []wire.Control{wire.CtrlLogout, wire.CtrlGetActiveReservations, wire.CtrlGetSessions,
		wire.CtrlRevokeSessions, wire.CtrlSetName}
	for _, c := range wire.Controls() {
		if !c.Request() {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			p := joinJSON(t, s)
			at := p.ask(map[string]any{"ctrl": "CLIENT_HELLO"})
			token := at.Token
			if c != wire.CtrlAcceptProfileTOS {
				if accepted := p.ask(map[string]any{"ctrl": "ACCEPT_PROFILE_TOS"}); accepted.Ctrl != "PROFILE_INFO" {
					t.Fatalf("the terms: %+v", accepted)
				}
			}
			if slices.Contains(identified, c) {
				if _, in := p.login(token); in.Ctrl != "LOGIN_SUCCESS" {
					t.Fatalf("login: %+v", in)
				}
			}
			var answers []string
			switch c {
			case wire.CtrlPlayerMove:
				answers = append(answers, p.move(at).Ctrl)
			case wire.CtrlLoginRequest:
				challenge, success := p.login(token)
				answers = append(answers, challenge.Ctrl, success.Ctrl)
			default:
				request := map[string]any{"ctrl": c.String(), "board_id": at.Board}
				if payload := payloads[c]; payload != nil {
					request["payload"] = payload
				}
				answers = append(answers, p.ask(request).Ctrl)
			}
			info, _ := c.Info()
			var wanted []string
			for _, r := range info.Replies {
				wanted = append(wanted, r.String())
			}
			if wanted == nil {
				wanted = []string{"ACK"}
			}
			if !slices.Equal(answers, wanted) {
				t.Errorf("answered by %v, want %v", answers, wanted)
			}
		})
	}
}
