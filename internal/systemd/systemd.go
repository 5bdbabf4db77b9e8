// Package systemd is what a service says to the manager that started it, and what
// it gets from it: readiness and liveness (sd_notify(3), sd_watchdog_enabled(3))
// and open sockets (sd_listen_fds(3)). Without a manager everything does nothing.
package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// The states that a service tells.
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
	Alive    = "WATCHDOG=1"
)

// Status is the one line about a service that 'systemctl status' shows.
func Status(text string) string { return "STATUS=" + strings.ReplaceAll(text, "\n", " ") }

// Notify tells the manager states. Without one it does nothing.
func Notify(states ...string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"}) // '@' is an abstract one
	if err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(strings.Join(states, "\n"))); err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	return nil
}

// Watchdog returns how often the manager wants to hear Alive at least; 0 is
// never.
func Watchdog() time.Duration {
	if pid := os.Getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	micros, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || micros <= 0 || micros > int64(24*time.Hour/time.Microsecond) {
		return 0
	}
	return time.Duration(micros) * time.Microsecond
}

// Socket is an open socket that the manager has bound.
type Socket struct {
	Name string // FileDescriptorName= of its unit; "unknown" without
	File *os.File
}

const (
	firstSocket = 3
	mostSockets = 4096
)

// ErrSockets is returned when the variables about sockets are not as the manager
// sets them.
var ErrSockets = errors.New("the sockets of the service manager")

// Sockets returns the sockets that the manager has opened for this process, once:
// the variables are gone afterwards.
func Sockets() ([]Socket, error) {
	pid, count, names := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS"), os.Getenv("LISTEN_FDNAMES")
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		os.Unsetenv(name)
	}
	if count == "" || pid != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	n, err := strconv.Atoi(count)
	if err != nil || n < 0 || n > mostSockets {
		return nil, fmt.Errorf("%w: LISTEN_FDS is %q", ErrSockets, count)
	}
	list := strings.Split(names, ":")
	if names != "" && len(list) != n {
		return nil, fmt.Errorf("%w: there are %d, but %d names", ErrSockets, n, len(list))
	}
	var all []Socket
	for i := range n {
		name := "unknown"
		if names != "" {
			name = list[i]
		}
		all = append(all, Socket{name, os.NewFile(uintptr(firstSocket+i), name)})
	}
	return all, nil
}
