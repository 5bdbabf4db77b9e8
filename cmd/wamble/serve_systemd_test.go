package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"wamble/client"
	"wamble/internal/admin"
	"wamble/internal/handoff"
)

// manager is a service manager: it has bound the sockets of a server, starts it, and receives
// its notifications.
type manager struct {
	t    *testing.T
	cmd  *exec.Cmd
	dir  string
	said chan string
	udp  *net.UDPConn
}

// configure writes the configuration of the service.
func (m *manager) configure(more string) {
	m.t.Helper()
	text := `(def listen-address "127.0.0.1") (def port 0) (def admin-listen "") (def disk-reserve-mb 0) ` + more
	if err := os.WriteFile(filepath.Join(m.dir, "wamble.conf"), []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
}

// startService starts 'wamble serve' as a service, with sockets for one profile.
func startService(t *testing.T, profile, more string) *manager {
	t.Helper()
	m := &manager{t: t, dir: t.TempDir()}
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	wamble := filepath.Join(m.dir, "wamble") // the name makes the test binary the command
	conf := filepath.Join(m.dir, "wamble.conf")
	m.configure(more)
	if err := os.Symlink(self, wamble); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(m.dir, "notify")
	m.listen(path)
	tcp, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tcp.Close() })
	if m.udp, err = net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.udp.Close() })
	tcpFile, err := tcp.File()
	if err != nil {
		t.Fatal(err)
	}
	udpFile, err := m.udp.File()
	if err != nil {
		t.Fatal(err)
	}
	// Only the process itself has its process id.
	m.cmd = exec.Command("/bin/sh", "-c",
		fmt.Sprintf("LISTEN_PID=$$ exec %s serve --config %s --data %s/data", wamble, conf, m.dir))
	m.cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+path, "WATCHDOG_USEC=100000", "LISTEN_FDS=2",
		"LISTEN_FDNAMES="+profile+":"+profile)
	m.cmd.ExtraFiles = []*os.File{tcpFile, udpFile}
	m.cmd.Stderr = os.Stderr
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.cmd.Process.Kill() })
	tcpFile.Close()
	udpFile.Close()
	return m
}

// listen reads every notification of the service at once: the kernel keeps only a few for a
// manager that does not read.
func (m *manager) listen(path string) {
	m.t.Helper()
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		m.t.Fatal(err)
	}
	m.said = make(chan string, 10_000)
	var listening sync.WaitGroup
	listening.Go(func() {
		for b := make([]byte, 1000); ; {
			n, err := notify.Read(b)
			if err != nil {
				return
			}
			m.said <- string(b[:n])
		}
	})
	m.t.Cleanup(func() {
		notify.Close()
		listening.Wait()
	})
}

// hear waits for a notification of the service.
func (m *manager) hear(want string) {
	m.t.Helper()
	for end := time.After(time.Minute); ; {
		select {
		case said := <-m.said:
			if strings.Contains(said, want) {
				return
			}
		case <-end:
			m.t.Fatalf("the service does not say %q", want)
		}
	}
}

// TestService: the server takes the manager's sockets, notifies it when it is ready and that
// it runs, does so after a handoff too, and when it stops.
func TestService(t *testing.T) {
	m := startService(t, "default", "")
	m.hear("READY=1")
	m.hear("WATCHDOG=1")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := (&client.Dialer{}).Dial(ctx, "udp://"+m.udp.LocalAddr().String())
	if err != nil {
		t.Fatalf("on the manager's socket: %v", err)
	}
	defer c.Close()
	if err := admin.Ask(ctx, filepath.Join(m.dir, "data"), "handoff", nil, new(handoff.Result)); err != nil {
		t.Fatal(err)
	}
	m.hear("READY=1")
	m.hear("WATCHDOG=1")
	if _, err := c.Hello(ctx); err != nil {
		t.Errorf("after a handoff: %v", err)
	}
	if err := m.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	m.hear("STOPPING=1")
	if err := m.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// TestServiceWithProfileAway: a handoff adds a profile whose database cannot be reached. The
// others are served: the command is answered, the manager is notified that the service is
// ready and runs, and the new profile reports what it waits for. The same holds after a
// start.
func TestServiceWithProfileAway(t *testing.T) {
	const one = "(def advertise 1) (defprofile here ())"
	const two = one + ` (defprofile away ((def db-host "127.0.0.1") (def db-port 1) (def db-user "nobody") (def db-name "none")))`
	m := startService(t, "here", one)
	m.hear("READY=1")
	m.configure(two)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	data := filepath.Join(m.dir, "data")
	for range 2 { // the second from a process with a profile that never served
		if err := admin.Ask(ctx, data, "handoff", nil, new(handoff.Result)); err != nil {
			t.Fatal(err)
		}
		m.hear("READY=1")
		m.hear("WATCHDOG=1")
		var status admin.Status
		if err := admin.Ask(ctx, data, "status", nil, &status); err != nil {
			t.Fatal(err)
		}
		if p := status.Profiles; len(p) != 2 || !p[0].Ready || p[1].Ready ||
			!strings.Contains(p[1].Stage, "waiting for the database") {
			t.Errorf("the status says %+v", p)
		}
		if left, err := filepath.Glob(filepath.Join(data, "handoff-*")); err != nil || len(left) > 0 {
			t.Errorf("state files are left: %v, %v", left, err)
		}
	}
	if err := m.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := m.cmd.Wait(); err != nil {
		t.Error(err)
	}
	m = startService(t, "here", two)
	m.hear("READY=1")
	m.hear("WATCHDOG=1")
}
