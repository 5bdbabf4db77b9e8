// Package systemd exchanges messages with the service manager that started the process:
// readiness and liveness (sd_notify(3), sd_watchdog_enabled(3)) and open sockets
// (sd_listen_fds(3)). Without a manager its functions do nothing.
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

// The states that a service reports.
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
	Alive    = "WATCHDOG=1"
)

// Status returns the state with the line that 'systemctl status' shows.
func Status(text string) string { return "STATUS=" + strings.ReplaceAll(text, "\n", " ") }

// Notify reports states to the manager. Without a manager it does nothing.
func Notify(states ...string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"}) // a path with '@' is an abstract one
	if err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(strings.Join(states, "\n"))); err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	return nil
}

// Watchdog returns the longest interval between two Alive that the manager accepts; 0 if it
// expects none.
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

// ErrSockets is returned when the variables about sockets are invalid.
var ErrSockets = errors.New("the sockets of the service manager")

// Sockets returns the sockets that the manager has opened for this process. It removes the
// variables, so that a second call returns none.
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
