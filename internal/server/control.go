package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// The control socket is a unix socket in the data directory, which only its
// owner may open. A client sends one line of JSON, gets one back, and that is
// all:
//
//	{"verb":"status"}
//	{"result":{…}}   or   {"error":"…"}

// request is what a client wants.
type request struct {
	Verb string          `json:"verb"`
	Args json.RawMessage `json:"args,omitempty"`
}

// reply is the answer.
type reply struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// verb is one row of the table of what can be asked.
type verb struct {
	name     string
	patience time.Duration // for one request and its answer
	do       func(ctx context.Context, s *Server, args json.RawMessage) (any, error)
}

// verbs is the one table of verbs.
var verbs []verb

func init() { // the console, which a reload opens anew, looks at the table
	verbs = []verb{
		{"status", quick, func(ctx context.Context, s *Server, _ json.RawMessage) (any, error) { return s.Status(ctx), nil }},
		{"reload", slow, func(ctx context.Context, s *Server, _ json.RawMessage) (any, error) { return s.Reload(ctx) }},
		{"drain", quick, order((*Server).drain)},
		{"brownout", quick, order((*Server).brownout)},
		{"announce", quick, order((*Server).announce)},
		{"kick", quick, order((*Server).kick)},
		{"ban", quick, order((*Server).ban)},
		{"unban", quick, order((*Server).unban)},
		{"erase", quick, order((*Server).erase)},
		{"archive", quick, order((*Server).archive)},
		{"dead-letters", quick, listDead},
		{"dead-letter-page", quick, pageDead},
		{"dead-letter-replay", slow, replayDead},
		{"dead-letter-drop", slow, dropDead},
	}
}

// order makes a verb of what obeys an Order.
func order(obey func(*Server, context.Context, Order) (Obeyed, error)) func(context.Context, *Server, json.RawMessage) (any, error) {
	return func(ctx context.Context, s *Server, args json.RawMessage) (any, error) {
		var o Order
		if err := json.Unmarshal(args, &o); err != nil {
			return nil, fmt.Errorf("not an order: %w", err)
		}
		return obey(s, ctx, o)
	}
}

const (
	quick        = 30 * time.Second
	slow         = 5 * time.Minute
	readTime     = 5 * time.Second // for the request
	maxRequest   = 64 << 10        // bytes
	maxReply     = 16 << 20        // bytes
	controlConns = 16              // at once
)

// ErrNoServer is returned by Ask when no server runs on a data directory.
var ErrNoServer = errors.New("no server runs there")

func controlPath(dir string) string { return filepath.Join(dir, "control.sock") }

// openControl makes the socket. What an earlier process left is removed: the
// lock of the journal says that it is gone.
func (s *Server) openControl() error {
	path := controlPath(s.dir)
	if l := s.inheritedControl(); l != nil {
		s.control = l
		s.closers = append(s.closers, l.Close)
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the control socket: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		return fmt.Errorf("the control socket: %w", err)
	}
	s.control = l
	s.closers = append(s.closers, l.Close)
	return nil
}

// serveControl answers until the socket is closed. Whoever finds no place waits
// in the kernel's queue.
func (s *Server) serveControl() {
	for {
		s.talks <- struct{}{}
		conn, err := s.control.Accept()
		if err != nil {
			<-s.talks
			if errors.Is(err, os.ErrDeadlineExceeded) {
				continue // hushControl is to have the place
			}
			return
		}
		go func() {
			defer func() { <-s.talks }()
			defer conn.Close()
			s.converse(conn)
		}()
	}
}

// hushControl takes n places at the control socket, as those who talk leave them,
// and returns how many it got before the end of ctx.
func (s *Server) hushControl(ctx context.Context, n int) int {
	if l, ok := s.control.(*net.UnixListener); ok {
		l.SetDeadline(time.Unix(1, 0)) // wakes serveControl
	}
	for got := range n {
		select {
		case s.talks <- struct{}{}:
		case <-ctx.Done():
			return got
		}
	}
	return n
}

// resumeControl gives the places back.
func (s *Server) resumeControl(n int) {
	if l, ok := s.control.(*net.UnixListener); ok {
		l.SetDeadline(time.Time{})
	}
	for range n {
		<-s.talks
	}
}

// converse reads one request and answers it.
func (s *Server) converse(conn net.Conn) {
	conn.SetDeadline(time.Now().Add(readTime))
	line, err := bufio.NewReader(io.LimitReader(conn, maxRequest)).ReadBytes('\n')
	if err != nil || s.obeyHandoff(conn, line) {
		return
	}
	conn.SetDeadline(time.Now().Add(slow + quick))
	var answer reply
	if answer.Result, err = s.obey(line); err != nil {
		answer.Error = err.Error()
	}
	json.NewEncoder(conn).Encode(answer)
}

func (s *Server) obey(line []byte) (json.RawMessage, error) {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, fmt.Errorf("not a request: %w", err)
	}
	for _, v := range verbs {
		if v.name == r.Verb {
			ctx, cancel := context.WithTimeout(context.Background(), v.patience)
			defer cancel()
			result, err := v.do(ctx, s, r.Args)
			if err != nil {
				return nil, err
			}
			return json.Marshal(result)
		}
	}
	return nil, fmt.Errorf("this server does not know %q; it may be older than this command", r.Verb)
}

// Ask sends a request to the server that runs on a data directory, and reads
// its answer into result, until the end of ctx or for 30 seconds. It returns ErrNoServer when none runs there.
func Ask(ctx context.Context, dir, verb string, args, result any) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", controlPath(dir))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%s: %w", dir, ErrNoServer)
	}
	if err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	defer conn.Close()
	end, ok := ctx.Deadline()
	if !ok {
		end = time.Now().Add(slow + quick)
	}
	conn.SetDeadline(end)
	r := request{Verb: verb}
	if args != nil {
		if r.Args, err = json.Marshal(args); err != nil {
			return err
		}
	}
	if err := json.NewEncoder(conn).Encode(r); err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	var answer reply
	if err := json.NewDecoder(io.LimitReader(conn, maxReply)).Decode(&answer); err != nil {
		return fmt.Errorf("the server did not answer: %w", err)
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return json.Unmarshal(answer.Result, result)
}
