package transport

import (
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"wamble/wire"
)

// sharesNumber says that several sockets can be bound to one number, and that the kernel
// chooses among them.
const sharesNumber = true

// steer attaches a program by which the kernel chooses among the n sockets that share the
// number of u, in the order in which they were bound: by the datagram's token; without a token
// by a hash of both addresses or, with newToFirst, the first socket.
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

// steering returns that program. Its result is the index of a socket; for noSocket, which does
// not exist, the kernel uses a hash of the addresses. Offset 0 is behind the UDP header.
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
