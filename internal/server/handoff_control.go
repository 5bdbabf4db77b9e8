package server

import (
	"context"
	"encoding/json"
	"net"
	"time"

	"wamble/internal/handoff"
	"wamble/internal/transport"
)

// handoffVerb asks for a handoff. Its answer comes from the image that has taken
// over, on the same connection.
const handoffVerb = "handoff"

// HandoffWish is the argument of a handoff.
type HandoffWish struct {
	Binary string `json:"binary,omitempty"` // "": that of the process
}

// HandoffTime is how long a handoff may take, migrations included.
const HandoffTime = 3 * time.Minute

// obeyHandoff does a request for a handoff, and reports whether it was one. If it
// works, the next image answers.
func (s *Server) obeyHandoff(conn net.Conn, line []byte) bool {
	var r request
	if json.Unmarshal(line, &r) != nil || r.Verb != handoffVerb {
		return false
	}
	var wish HandoffWish
	if len(r.Args) > 0 && json.Unmarshal(r.Args, &wish) != nil {
		json.NewEncoder(conn).Encode(reply{Error: "not a wish for a handoff"})
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), HandoffTime)
	defer cancel()
	conn.SetDeadline(time.Now().Add(HandoffTime))
	report, err := transport.Duplicate(conn.(*net.UnixConn))
	if err == nil {
		err = s.HandOff(ctx, wish.Binary, report)
	}
	if err != nil {
		json.NewEncoder(conn).Encode(reply{Error: err.Error()})
	}
	return true
}

// AskHandoff asks the server on a data directory to hand over, and returns what
// the image says that has taken over.
func AskHandoff(ctx context.Context, dir, binary string) (handoff.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, HandoffTime)
	defer cancel()
	var done handoff.Result
	err := Ask(ctx, dir, handoffVerb, HandoffWish{Binary: binary}, &done)
	return done, err
}
