package postgres

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestDialAs: the server at a unix socket sees the user whom root connects as, and all else
// is done as root. Other users can only connect as themselves.
func TestDialAs(t *testing.T) {
	dir, err := os.MkdirTemp("", "wamble-as-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	as := os.Geteuid()
	if as == 0 {
		as = 12345
	}
	for _, name := range []string{dir, l.Addr().String()} {
		if err := os.Chmod(name, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	dial := new(net.Dialer).DialContext
	if os.Geteuid() == 0 {
		dial = dialAs(as)
	}
	client, err := dial(t.Context(), "unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	raw, err := c.(*net.UnixConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	raw.Control(func(fd uintptr) {
		who, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err != nil || int(who.Uid) != as {
			t.Errorf("%+v connects, %v, want user %d", who, err, as)
		}
	})
	if err := os.WriteFile(filepath.Join(dir, "after"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var made unix.Stat_t
	if err := unix.Stat(filepath.Join(dir, "after"), &made); err != nil || int(made.Uid) != os.Geteuid() {
		t.Errorf("a file of %d, %v", made.Uid, err)
	}
}
