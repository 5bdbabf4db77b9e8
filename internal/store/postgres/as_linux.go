package postgres

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// dialAs connects to unix sockets as another user, if this process runs as root: a server with
// peer authentication knows the name of the user that Wamble is run for. Only the connecting
// thread changes its user.
func dialAs(uid int) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		var d net.Dialer
		if network != "unix" {
			return d.DialContext(ctx, network, address)
		}
		runtime.LockOSThread()
		if err := becomeThread(uid); err != nil {
			return nil, fmt.Errorf("become user %d: %w", uid, err)
		}
		conn, err := d.DialContext(ctx, network, address)
		if back := becomeThread(0); back != nil {
			return nil, fmt.Errorf("become root again: %w", back) // LockOSThread is not undone: the thread ends with its goroutine
		}
		runtime.UnlockOSThread()
		return conn, err
	}
}

// becomeThread changes the effective user of this thread; package syscall would change it in
// all threads.
func becomeThread(uid int) error {
	const same = ^uintptr(0)
	if _, _, no := syscall.RawSyscall(unix.SYS_SETRESUID, same, uintptr(uid), same); no != 0 {
		return no
	}
	return nil
}
