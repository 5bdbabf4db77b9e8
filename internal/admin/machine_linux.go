package admin

import (
	"errors"
	"fmt"
	"math"
	"net"

	"golang.org/x/sys/unix"
)

// freeSpace returns how many bytes an unprivileged process can still write.
func freeSpace(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}

// fileLimit returns how many files the process may have open.
func fileLimit() (uint64, error) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil {
		return 0, err
	}
	if l.Cur == unix.RLIM_INFINITY {
		return math.MaxUint64, nil
	}
	return l.Cur, nil
}

// peerCredentials describes the user and process that opened a connection.
func peerCredentials(conn *net.UnixConn) (string, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return "", err
	}
	var who *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		who, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return "", err
	}
	return fmt.Sprintf("uid %d, gid %d, pid %d", who.Uid, who.Gid, who.Pid), nil
}

// clockSynced reports whether a time service synchronizes the clock.
func clockSynced() (bool, error) {
	var t unix.Timex
	state, err := unix.Adjtimex(&t)
	return err == nil && state != unix.TIME_ERROR, err
}
