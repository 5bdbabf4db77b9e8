package systemd

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// asService makes this test binary a service that prints what it was given.
const asService = "WAMBLE_TEST_SERVICE"

func TestMain(m *testing.M) {
	if os.Getenv(asService) == "" {
		os.Exit(m.Run())
	}
	// A shell would have set the number of its own process.
	os.Setenv("LISTEN_PID", strconv.Itoa(os.Getpid()))
	list, err := Sockets()
	if err != nil {
		panic(err)
	}
	for _, s := range list {
		l, err := net.FileListener(s.File)
		if err != nil {
			panic(err)
		}
		os.Stdout.WriteString(s.Name + " " + l.Addr().String() + "\n")
	}
	if again, err := Sockets(); again != nil || err != nil || os.Getenv("LISTEN_FDS") != "" {
		panic("the sockets are there twice")
	}
}

func TestNotify(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer manager.Close()
	t.Setenv("NOTIFY_SOCKET", path)
	if err := Notify(Ready, Status("two\nlines")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	n, err := manager.Read(b)
	if got, want := string(b[:n]), "READY=1\nSTATUS=two lines"; err != nil || got != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	t.Setenv("NOTIFY_SOCKET", path+"-nowhere")
	if Notify(Alive) == nil {
		t.Error("nobody is there, but that is no error")
	}
	t.Setenv("NOTIFY_SOCKET", "")
	if err := Notify(Alive); err != nil {
		t.Errorf("without a manager: %v", err)
	}
}

func TestWatchdog(t *testing.T) {
	for _, tc := range []struct {
		micros, pid string
		want        time.Duration
	}{
		{"", "", 0}, {"30000000", "", 30 * time.Second}, {"30000000", strconv.Itoa(os.Getpid()), 30 * time.Second},
		{"30000000", "1", 0}, {"-1", "", 0}, {"many", "", 0}, {"99999999999999999", "", 0},
	} {
		t.Setenv("WATCHDOG_USEC", tc.micros)
		t.Setenv("WATCHDOG_PID", tc.pid)
		if got := Watchdog(); got != tc.want {
			t.Errorf("%q of %q: got %v, want %v", tc.micros, tc.pid, got, tc.want)
		}
	}
}

// TestSockets: another process gets two listeners, as from a manager.
func TestSockets(t *testing.T) {
	var files []*os.File
	var want string
	for _, name := range []string{"club", "default"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		f, err := l.(*net.TCPListener).File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files = append(files, f)
		want += name + " " + l.Addr().String() + "\n"
	}
	cmd := exec.Command(os.Args[0])
	cmd.ExtraFiles = files
	cmd.Env = append(os.Environ(), asService+"=1", "LISTEN_FDS=2", "LISTEN_FDNAMES=club:default")
	got, err := cmd.CombinedOutput()
	if err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
}

func TestSocketsRefuses(t *testing.T) {
	for _, tc := range []struct{ count, names, pid string }{
		{"x", "", "own"}, {"-1", "", "own"}, {"99999", "", "own"}, {"2", "one", "own"},
	} {
		t.Setenv("LISTEN_PID", strings.Replace(tc.pid, "own", strconv.Itoa(os.Getpid()), 1))
		t.Setenv("LISTEN_FDS", tc.count)
		t.Setenv("LISTEN_FDNAMES", tc.names)
		if _, err := Sockets(); !errors.Is(err, ErrSockets) {
			t.Errorf("%+v: got %v, want %v", tc, err, ErrSockets)
		}
	}
	t.Setenv("LISTEN_PID", "1")
	t.Setenv("LISTEN_FDS", "2")
	if all, err := Sockets(); all != nil || err != nil {
		t.Errorf("those of another process: got %v, %v", all, err)
	}
}
