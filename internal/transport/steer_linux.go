package transport

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"wamble/wire"
)

// sharesNumber says that several sockets may be bound to one number, and the kernel
// chooses among them.
const sharesNumber = true

// steer has the kernel choose the socket of a datagram among the n that share the
// number of u, in the order in which they were bound: by its token, or, if it has
// none, by the addresses of both ends; with newToFirst the first.
func (u *UDP) steer(n int, newToFirst bool) error {
	code, err := bpf.Assemble(steering(n, newToFirst))
	if err != nil {
		return err
	}
	program := make([]unix.SockFilter, len(code))
	for i, c := range code {
		program[i] = unix.SockFilter{Code: c.Op, Jt: c.Jt, Jf: c.Jf, K: c.K}
	}
	no := u.socket.raw.Control(func(fd uintptr) {
		err = unix.SetsockoptSockFprog(int(fd), unix.SOL_SOCKET, unix.SO_ATTACH_REUSEPORT_CBPF,
			&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})
	})
	if no != nil {
		return no
	}
	return err
}

// steering is the program: what it returns is the index of a socket. There is none of
// noSocket: then the kernel takes a hash of the addresses. The data begins behind the
// header of UDP.
func steering(n int, newToFirst bool) []bpf.Instruction {
	const (
		token    = wire.TokenOffset
		noSocket = 1<<32 - 1
	)
	other := bpf.RetConstant{Val: noSocket}
	if newToFirst {
		other.Val = 0
	}
	return []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtLen},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: wire.HeaderSize, SkipTrue: 8},
		bpf.LoadAbsolute{Off: token + 12, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, SkipTrue: 7},
		bpf.LoadAbsolute{Off: token, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, SkipTrue: 5},
		bpf.LoadAbsolute{Off: token + 4, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, SkipTrue: 3},
		bpf.LoadAbsolute{Off: token + 8, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, SkipTrue: 1},
		other,
		bpf.LoadAbsolute{Off: token + 15, Size: 1},
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: uint32(n - 1)},
		bpf.RetA{},
	}
}
