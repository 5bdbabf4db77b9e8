package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// child is a process of this binary that bench measures: a server, or the echo.
type child struct {
	addr  netip.AddrPort
	cmd   *exec.Cmd
	stdin io.Closer
	log   *tail
	ended chan struct{} // closed when the process has ended with err
	err   error
}

// startPatience bounds the start of a child.
const startPatience = 30 * time.Second

// startChild runs this binary and waits until it prints its address, "udp://HOST:PORT", to
// standard output.
func startChild(ctx context.Context, args ...string) (*child, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(exe, args...), log: &tail{}, ended: make(chan struct{})}
	c.cmd.Stderr = c.log
	found := make(chan string, 1)
	c.cmd.Stdout = &addressFinder{found: found}
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		c.err = c.cmd.Wait()
		close(c.ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	select {
	case address := <-found:
		if c.addr, err = resolve(strings.Replace(address, "localhost", loopback.String(), 1)); err == nil {
			return c, nil
		}
	case <-c.ended:
		err = fmt.Errorf("'wamble %s' ended (%v)", strings.Join(args, " "), c.err)
	case <-ctx.Done():
		err = fmt.Errorf("'wamble %s' is not ready after %v", strings.Join(args, " "), startPatience)
	}
	c.kill()
	return nil, c.explain(err)
}

// explain adds the end of the child's log to an error.
func (c *child) explain(err error) error {
	if said := c.log.String(); said != "" {
		return fmt.Errorf("%w; it said:\n%s", err, said)
	}
	return err
}

// stop stops the child in order, and returns how long that took.
func (c *child) stop() (time.Duration, error) {
	start := time.Now()
	c.stdin.Close()
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return 0, err
	}
	<-c.ended
	if c.err != nil {
		return time.Since(start), c.explain(fmt.Errorf("the server ended with: %w", c.err))
	}
	return time.Since(start), nil
}

// kill ends the child at once.
func (c *child) kill() {
	c.cmd.Process.Kill()
	<-c.ended
	c.stdin.Close()
}

// cpu returns the processor time of the child so far; 0 if it is not known.
func (c *child) cpu() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	return cpuOf(stat)
}

// cpuOf returns the sum of user and system time in /proc/PID/stat: fields 14 and 15, in ticks
// of 10 ms.
func cpuOf(stat []byte) time.Duration {
	// The fields are after the name, which may have spaces.
	_, rest, ok := bytes.Cut(stat[max(bytes.LastIndexByte(stat, ')'), 0):], []byte(" "))
	fields := bytes.Fields(rest)
	if !ok || len(fields) < 13 {
		return 0
	}
	user, err1 := strconv.ParseInt(string(fields[11]), 10, 64)
	system, err2 := strconv.ParseInt(string(fields[12]), 10, 64)
	if err1 != nil || err2 != nil {
		return 0
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// addressFinder is an io.Writer that looks for "udp://HOST:PORT".
type addressFinder struct {
	found chan<- string
	line  []byte
	done  bool
}

func (f *addressFinder) Write(b []byte) (int, error) {
	if f.done {
		return len(b), nil
	}
	f.line = append(f.line, b...)
	for s := bufio.NewScanner(bytes.NewReader(f.line)); s.Scan(); {
		_, address, ok := strings.Cut(s.Text(), "udp://")
		if ok && bytes.Contains(f.line, []byte(address+"\n")) {
			f.found <- address
			f.done, f.line = true, nil
			break
		}
	}
	return len(b), nil
}

// tail is an io.Writer that keeps the last tailSize bytes.
type tail struct {
	mu   sync.Mutex
	text []byte
}

const tailSize = 4 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	if over := len(t.text) - tailSize; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}
