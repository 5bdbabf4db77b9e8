package transport

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// socket is a datagram socket that the poller of the Go runtime does not know.
// The poller wants to hear of everything that happens to a socket: of each
// datagram that comes, though its reader is at work and looks by itself, and of
// each that has left, though nobody waits for room. Under load a thread would be
// woken for every few of them, to find nothing to do. What the poller knows
// instead is a bell: an epoll that holds this socket alone, and rings once, for
// a reader that waits.
type socket struct {
	file *os.File        // blocking: so the poller is not told of it, and each call says MSG_DONTWAIT
	raw  syscall.RawConn // of file
	bell *os.File
	rope syscall.RawConn // of bell
	set  bool            // the bell was armed, and may ring; known to the reader alone
}

// newSocket takes the socket out of conn, which it closes.
func newSocket(conn *net.UDPConn) (_ *socket, err error) {
	defer conn.Close()
	s := &socket{}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	fd := -1
	if no := raw.Control(func(old uintptr) { fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 3) }); no != nil || err != nil {
		return nil, errors.Join(no, err)
	}
	err = unix.SetNonblock(fd, false)
	s.file = os.NewFile(uintptr(fd), "udp")
	if err != nil {
		return nil, err
	}
	if s.raw, err = s.file.SyscallConn(); err != nil {
		return nil, err
	}
	return s, s.hang(fd)
}

// hang makes the bell of the socket.
func (s *socket) hang(fd int) error {
	bell, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	err = unix.SetNonblock(bell, true) // so that the poller takes it
	s.bell = os.NewFile(uintptr(bell), "epoll")
	if err != nil {
		return err
	}
	if err := unix.EpollCtl(bell, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLONESHOT}); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	if err := s.bell.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("wait for an epoll: %w", err) // the poller has not taken it
	}
	s.rope, err = s.bell.SyscallConn()
	return err
}

// arm lets the bell ring when a datagram is there, once.
func (s *socket) arm(bell, fd uintptr) error {
	s.set = true
	return unix.EpollCtl(int(bell), unix.EPOLL_CTL_MOD, int(fd), &unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLONESHOT})
}

// hush takes note that the bell has rung, if it was set: only that disarms it.
func (s *socket) hush(bell uintptr) {
	if s.set {
		s.set = false
		var events [1]unix.EpollEvent
		unix.EpollWait(int(bell), events[:], 0)
	}
}

// awaitRoom waits until there is room in the send buffer, at most so long.
func (s *socket) awaitRoom(fd uintptr, atMost time.Duration) {
	wait := unix.NsecToTimespec(atMost.Nanoseconds())
	unix.Ppoll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, &wait, nil)
}

// SyscallConn gives access to the descriptor.
func (s *socket) SyscallConn() (syscall.RawConn, error) { return s.raw, nil }

// SetReadDeadline says until when a read waits.
func (s *socket) SetReadDeadline(t time.Time) error { return s.bell.SetReadDeadline(t) }

// Close ends a read that waits.
func (s *socket) Close() error {
	return errors.Join(closeFile(s.bell), closeFile(s.file))
}

func closeFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// closedErr is the error of a call on the socket or its bell as a reader or
// writer of a net.Conn knows it. But for the deadline, the only one is that the
// file is closed; it has no name outside of the standard library.
func closedErr(err error) error {
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return net.ErrClosed
}
