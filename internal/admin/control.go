package admin

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

	"wamble/internal/guard"
)

// The control socket is a unix socket in the data directory, which only its owner can
// open. A client sends one line of JSON and gets one back:
//
//	{"verb":"status"}
//	{"result":{…}}   or   {"error":"…"}

// request is the line of a client.
type request struct {
	Verb string          `json:"verb"`
	Args json.RawMessage `json:"args,omitempty"`
}

// reply is the line of the server.
type reply struct {
	Result json.RawMessage `json:"result,omitempty"`
	Error  string          `json:"error,omitempty"`
}

// The limits of the control socket.
const (
	ControlConns = 16 // concurrent connections

	readTime   = 5 * time.Second // for the request
	maxRequest = 64 << 10        // bytes
	maxReply   = 16 << 20        // bytes
)

// ErrNoServer is returned by Ask when no server runs on a data directory.
var ErrNoServer = errors.New("no server runs there")

// ControlPath returns the path of a data directory's control socket.
func ControlPath(dir string) string { return filepath.Join(dir, "control.sock") }

// Control is the control socket of a server.
type Control struct {
	*net.UnixListener
	host  *Host
	slots chan struct{} // semaphore of connections
}

// OpenControl opens the socket, unless it was inherited. A socket that an earlier process
// left is removed; the caller's lock says that no other process uses it.
func (h *Host) OpenControl(inherited *net.UnixListener) (*Control, error) {
	c := &Control{UnixListener: inherited, host: h, slots: make(chan struct{}, ControlConns)}
	if inherited != nil {
		return c, nil
	}
	path := ControlPath(h.Dir)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the control socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("the control socket: %w", err)
	}
	c.UnixListener = l
	return c, nil
}

// Serve answers until the socket is closed. Connections beyond ControlConns wait in the
// kernel's queue.
func (c *Control) Serve() {
	for {
		c.slots <- struct{}{}
		conn, err := c.AcceptUnix()
		if err != nil {
			<-c.slots
			if errors.Is(err, os.ErrDeadlineExceeded) {
				continue // Pause has set the deadline
			}
			return
		}
		go func() {
			defer func() { <-c.slots }()
			defer conn.Close()
			guard.Run("the control socket", func() { c.serveConn(conn) }, c.host.reportPanic)
		}()
	}
}

// Pause acquires n slots of the semaphore as connections end, so that no new ones are
// accepted. It returns how many it got before ctx ended.
func (c *Control) Pause(ctx context.Context, n int) int {
	c.SetDeadline(time.Unix(1, 0)) // wakes Serve
	for got := range n {
		select {
		case c.slots <- struct{}{}:
		case <-ctx.Done():
			return got
		}
	}
	return n
}

// Resume releases n slots.
func (c *Control) Resume(n int) {
	c.SetDeadline(time.Time{})
	for range n {
		<-c.slots
	}
}

// serveConn reads one request and answers it.
func (c *Control) serveConn(conn *net.UnixConn) {
	conn.SetDeadline(time.Now().Add(readTime))
	line, err := bufio.NewReader(io.LimitReader(conn, maxRequest)).ReadBytes('\n')
	if err != nil {
		return
	}
	var result any
	err = guard.Call("a command", func() (err error) { result, err = c.execute(conn, line); return err })
	var crash *guard.Panic
	if errors.As(err, &crash) {
		c.host.reportPanic(err)
		err = errors.New("internal error: the log of the server says more")
	}
	Answer(conn, result, err)
}

// execute carries out the command of a request.
func (c *Control) execute(conn *net.UnixConn, line []byte) (any, error) {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return nil, fmt.Errorf("not a request: %w", err)
	}
	command := c.host.command(r.Verb)
	if command == nil || command.Channels&Socket == 0 {
		return nil, fmt.Errorf("this server does not know %q; it may be older than this command", r.Verb)
	}
	conn.SetDeadline(time.Now().Add(command.Patience + quick))
	ctx, cancel := context.WithTimeout(context.Background(), command.Patience)
	defer cancel()
	return c.host.doAudited(ctx, command, Call{Args: r.Args, Conn: conn}, controlPeer(conn))
}

// controlPeer describes the client of a connection by the kernel's peer credentials.
func controlPeer(conn *net.UnixConn) string {
	who, err := peerCredentials(conn)
	if err != nil {
		return "control socket"
	}
	return "control socket, " + who
}

// Answer writes the reply to a request.
func Answer(w io.Writer, result any, err error) {
	var answer reply
	if err == nil {
		answer.Result, err = json.Marshal(result)
	}
	if err != nil {
		answer = reply{Error: err.Error()}
	}
	json.NewEncoder(w).Encode(answer)
}

// Ask sends a command to the server that runs on a data directory, and decodes its answer
// into result. Without a deadline in ctx it waits for five and a half minutes. It returns
// ErrNoServer if no server runs there.
func Ask(ctx context.Context, dir, command string, args, result any) error {
	began := time.Now()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", ControlPath(dir))
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
	r := request{Verb: command}
	if args != nil {
		if r.Args, err = json.Marshal(args); err != nil {
			return err
		}
	}
	if err := json.NewEncoder(conn).Encode(r); err != nil {
		return fmt.Errorf("ask the server: %w", err)
	}
	var answer reply
	if err := json.NewDecoder(io.LimitReader(conn, maxReply)).Decode(&answer); errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("the server on %s is there, but has not answered for %v: its process may be stopped, or "+
			"has too much to do", dir, time.Since(began).Round(time.Second))
	} else if err != nil {
		return fmt.Errorf("the server did not answer: %w", err)
	}
	if answer.Error != "" {
		return errors.New(answer.Error)
	}
	return json.Unmarshal(answer.Result, result)
}
