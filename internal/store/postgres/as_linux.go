package postgres

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// dialAs connects to unix sockets as another user than root, which runs this process: a
// server that lets users of the machine in by their names (peer) knows that of the user
// who runs Wamble. Only the thread that connects changes its user.
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
			return nil, fmt.Errorf("become root again: %w", back) // the thread ends with its goroutine
		}
		runtime.UnlockOSThread()
		return conn, err
	}
}

// becomeThread changes the effective user of this thread, which package syscall would
// change in all threads.
func becomeThread(uid int) error {
	const same = ^uintptr(0)
	if _, _, no := syscall.RawSyscall(unix.SYS_SETRESUID, same, uintptr(uid), same); no != 0 {
		return no
	}
	return nil
}
