package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"wamble/internal/watchtest"
)

// terminalOf runs a command in a pseudo-terminal: it gets keys, and its output is drawn on
// the screen.
type terminalOf struct {
	t             *testing.T
	master, slave *os.File
	cmd           *exec.Cmd
	done          chan error
	before        unix.Termios

	mu     sync.Mutex
	screen emulator
}

// inTerminal starts the command of this binary in a terminal of a size.
func inTerminal(t *testing.T, width, height int, args ...string) *terminalOf {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	x := &terminalOf{t: t, master: master, slave: slave, done: make(chan error, 1)}
	x.resize(width, height)
	x.before = x.settings()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x.cmd = &exec.Cmd{Path: exe, Args: append([]string{"wamble"}, args...), Stdin: slave, Stdout: slave, Stderr: slave,
		Env:         append(os.Environ(), "TERM=xterm-256color", "COLORTERM=truecolor", "LC_ALL=C.UTF-8", "NO_COLOR="),
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Setctty: true}}
	if err := x.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.cmd.Process.Kill() })
	go func() { x.done <- x.cmd.Wait() }()
	go x.show()
	return x
}

// show draws the command's output, and answers the query for the background.
func (x *terminalOf) show() {
	for b := make([]byte, 1<<16); ; {
		n, err := x.master.Read(b)
		if err != nil {
			return
		}
		x.mu.Lock()
		x.screen.write(b[:n])
		asked := x.screen.asked
		x.screen.asked = false
		x.mu.Unlock()
		if asked {
			x.master.WriteString("\x1b]11;rgb:ffff/ffff/ffff\x07")
		}
	}
}

func (x *terminalOf) settings() unix.Termios {
	x.t.Helper()
	got, err := unix.IoctlGetTermios(int(x.slave.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return *got
}

func (x *terminalOf) resize(width, height int) {
	x.t.Helper()
	x.mu.Lock()
	x.screen.resize(width, height)
	x.mu.Unlock()
	if err := unix.IoctlSetWinsize(int(x.master.Fd()), unix.TIOCSWINSZ,
		&unix.Winsize{Row: uint16(height), Col: uint16(width)}); err != nil {
		x.t.Fatal(err)
	}
}

func (x *terminalOf) press(keys string) {
	x.t.Helper()
	if _, err := x.master.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// click presses and releases the left button.
func (x *terminalOf) click(column, row int) {
	x.press(fmt.Sprintf("\x1b[<0;%d;%dM\x1b[<0;%d;%dm", column+1, row+1, column+1, row+1))
}

// String returns the text on the screen.
func (x *terminalOf) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.screen.String()
}

// sees waits until a text is on the screen, wherever lines are broken.
func (x *terminalOf) sees(text string) {
	x.t.Helper()
	watchtest.Until(x.t, "the screen shows "+text, func() bool {
		return strings.Contains(strings.Join(strings.Fields(x.String()), " "), text)
	}, x)
}

// ended waits for the end of the command.
func (x *terminalOf) ended() error { return <-x.done }

// emulator is as much of an xterm as the tests need.
type emulator struct {
	width, height int
	rows          [][]rune
	x, y          int
	wrap          bool // the next sign begins a new line
	top, bottom   int  // of the part that scrolls
	last          rune
	modes         map[string]bool
	left          []byte // of an incomplete sequence
	asked         bool   // for the colour of the background
	written       int    // bytes
	escapes       int    // sequences that command the terminal
	cleared       int    // how often the whole screen was
	unknown       []string
}

func (e *emulator) resize(width, height int) {
	rows := make([][]rune, height)
	for i := range rows {
		rows[i] = []rune(strings.Repeat(" ", width))
		if i < len(e.rows) {
			copy(rows[i], e.rows[i])
		}
	}
	e.rows, e.width, e.height, e.top, e.bottom = rows, width, height, 0, height-1
	e.x, e.y = min(e.x, width-1), min(e.y, height-1)
	if e.modes == nil {
		e.modes = map[string]bool{"?25": true}
	}
}

func (e *emulator) String() string {
	var lines []string
	for _, row := range e.rows {
		lines = append(lines, strings.TrimRight(string(row), " "))
	}
	return strings.Join(lines, "\n")
}

func (e *emulator) write(b []byte) {
	e.written += len(b)
	e.escapes += bytes.Count(b, []byte("\x1b"))
	e.left = append(e.left, b...)
	for len(e.left) > 0 {
		n := e.one(e.left)
		if n == 0 {
			return
		}
		e.left = e.left[n:]
	}
}

// one takes one character or sequence and returns its length, 0 if it is incomplete.
func (e *emulator) one(b []byte) int {
	switch b[0] {
	case '\r':
		e.x, e.wrap = 0, false
		return 1
	case '\n':
		e.feed()
		return 1
	case '\b':
		e.x, e.wrap = max(0, e.x-1), false
		return 1
	case '\t':
		e.x, e.wrap = min(e.width-1, (e.x/8+1)*8), false
		return 1
	case 0x1b:
		return e.escape(b)
	}
	if b[0] < ' ' {
		return 1
	}
	if !utf8.FullRune(b) {
		return 0
	}
	r, size := utf8.DecodeRune(b)
	e.put(r)
	return size
}

func (e *emulator) put(r rune) {
	if e.wrap {
		e.x = 0
		e.feed()
		e.wrap = false
	}
	e.rows[e.y][e.x], e.last = r, r
	if e.x == e.width-1 {
		e.wrap = true
	} else {
		e.x++
	}
}

func (e *emulator) feed() {
	if e.y == e.bottom {
		e.scroll(e.top, 1)
	} else {
		e.y = min(e.y+1, e.height-1)
	}
}

// scroll moves the lines from one on up, or down if n is negative.
func (e *emulator) scroll(from, n int) {
	for ; n > 0; n-- {
		copy(e.rows[from:e.bottom+1], e.rows[from+1:e.bottom+1])
		e.rows[e.bottom] = []rune(strings.Repeat(" ", e.width))
	}
	for ; n < 0; n++ {
		copy(e.rows[from+1:e.bottom+1], e.rows[from:e.bottom])
		e.rows[from] = []rune(strings.Repeat(" ", e.width))
	}
}

func (e *emulator) escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				e.control(string(b[2:i]), b[i])
				return i + 1
			}
		}
		return 0
	case ']', 'P', '_', '^':
		for i := 2; i < len(b); i++ {
			if b[i] == 7 || b[i] == '\\' && b[i-1] == 0x1b {
				e.asked = e.asked || strings.HasPrefix(string(b[1:i]), "]11;?")
				return i + 1
			}
		}
		return 0
	case '(', ')':
		if len(b) < 3 {
			return 0
		}
		return 3
	case 'M':
		if e.y == e.top {
			e.scroll(e.top, -1)
		} else {
			e.y = max(0, e.y-1)
		}
	}
	return 2
}

func (e *emulator) control(params string, final byte) {
	n := func(i, otherwise int) int {
		if part := strings.Split(params, ";"); i < len(part) && part[i] != "" {
			if v, err := strconv.Atoi(part[i]); err == nil {
				return v
			}
		}
		return otherwise
	}
	if params != "" && strings.ContainsAny(params[:1], "?<>=") || strings.ContainsAny(params, "$ ") {
		for mode := range strings.SplitSeq(strings.TrimPrefix(params, "?"), ";") {
			if final == 'h' || final == 'l' {
				e.modes["?"+mode] = final == 'h'
			}
		}
		return
	}
	row := e.rows[e.y]
	blank := func(from, to int) {
		for i := from; i < min(to, e.width); i++ {
			row[i] = ' '
		}
	}
	if final != 'm' && final != 'b' {
		e.wrap = false
	}
	switch final {
	case 'A':
		e.y = max(0, e.y-n(0, 1))
	case 'B', 'e':
		e.y = min(e.height-1, e.y+n(0, 1))
	case 'C', 'a':
		e.x = min(e.width-1, e.x+n(0, 1))
	case 'D':
		e.x = max(0, e.x-n(0, 1))
	case 'E':
		e.x, e.y = 0, min(e.height-1, e.y+n(0, 1))
	case 'F':
		e.x, e.y = 0, max(0, e.y-n(0, 1))
	case 'G', '`':
		e.x = min(e.width, n(0, 1)) - 1
	case 'd':
		e.y = min(e.height, n(0, 1)) - 1
	case 'H', 'f':
		e.y, e.x = min(e.height, n(0, 1))-1, min(e.width, n(1, 1))-1
	case 'I':
		e.x = min(e.width-1, (e.x/8+n(0, 1))*8)
	case 'Z':
		e.x = max(0, ((e.x+7)/8-n(0, 1))*8)
	case 'J':
		e.erase(n(0, 0))
	case 'K':
		switch n(0, 0) {
		case 0:
			blank(e.x, e.width)
		case 1:
			blank(0, e.x+1)
		case 2:
			blank(0, e.width)
		}
	case 'X':
		blank(e.x, e.x+n(0, 1))
	case '@':
		k := min(n(0, 1), e.width-e.x)
		copy(row[e.x+k:], row[e.x:])
		blank(e.x, e.x+k)
	case 'P':
		k := min(n(0, 1), e.width-e.x)
		copy(row[e.x:], row[e.x+k:])
		blank(e.width-k, e.width)
	case 'L':
		e.scroll(e.y, -n(0, 1))
	case 'M':
		e.scroll(e.y, n(0, 1))
	case 'S':
		e.scroll(e.top, n(0, 1))
	case 'T':
		e.scroll(e.top, -n(0, 1))
	case 'b':
		for range n(0, 1) {
			e.put(e.last)
		}
	case 'r':
		e.top, e.bottom = n(0, 1)-1, n(1, e.height)-1
		e.x, e.y = 0, 0
	case 'm', 'c', 'n', 'h', 'l', 's', 'u', 't', 'q':
	default:
		e.unknown = append(e.unknown, params+string(final))
	}
}

func (e *emulator) erase(what int) {
	from, to := e.y*e.width+e.x, e.width*e.height
	switch what {
	case 1:
		from, to = 0, from+1
	case 2, 3:
		from = 0
		e.cleared++
	}
	for i := from; i < to; i++ {
		e.rows[i/e.width][i%e.width] = ' '
	}
}
