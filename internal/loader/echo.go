package loader

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"os"
	"time"

	"wamble"
	"wamble/internal/link"
	"wamble/internal/transport"
	"wamble/wire"
)

// Echo is a minimal server: it reads and writes the packets of a server in the same batches,
// without any state. It answers a move with an ACK and a board, and a hello with an ACK and the
// same board; every client gets its own token.
type Echo struct {
	udp                *transport.UDP
	ack, hello, update []byte
	answers            int // offset of the request's number in update
	out                link.Batch
	log                *os.File // nil for none
	line               []byte
}

// OpenEcho opens the socket of an Echo. If log is set, the Echo appends what it reads to log
// and syncs it before it answers, as the simplest durable server does.
func OpenEcho(address netip.AddrPort, log *os.File) (*Echo, error) {
	udp, err := transport.ListenUDP(address, transport.UDPOptions{})
	if err != nil {
		return nil, err
	}
	e := &Echo{udp: udp, log: log}
	// A middle-game position, with the fields that a server sends to a proven address.
	const fen = "r1bq1rk1/ppp2ppp/2np1n2/2b1p3/2B1P3/2NP1N2/PPP2PPP/R1BQ1RK1 w - - 4 7"
	short := wire.Text(wire.ShortFEN(fen))
	ext := []wire.Field{
		wire.Int(wire.KeySessionCaps, 0x3ff), wire.Int(wire.KeyReservationReservedAt, 1_700_000_000),
		wire.Int(wire.KeyLastMoveFrom, 60), wire.Int(wire.KeyLastMoveTo, 62),
		wire.String(wire.KeyBoardFEN, fen), wire.Int(wire.KeyBoardVersion, 14),
	}
	h := wire.Header{Board: 1, Seq: 1}
	if e.ack, err = wire.Append(nil, wire.Header{}, wire.Ack{}); err == nil {
		e.hello, err = wire.Append(nil, h, wire.ServerHello{FEN: short}, ext...)
	}
	if err == nil {
		const mark = 0x0102_0304_0506_0708
		ext = append([]wire.Field{wire.Int(wire.KeyRequestSeq, mark)}, ext...)
		e.update, err = wire.Append(nil, h, wire.BoardUpdate{FEN: short}, ext...)
		e.answers = bytes.Index(e.update, binary.BigEndian.AppendUint64(nil, mark))
	}
	if err != nil {
		udp.Close()
		return nil, err
	}
	return e, nil
}

// Addr returns the address that the Echo listens on.
func (e *Echo) Addr() netip.AddrPort { return e.udp.LocalAddr() }

// Close ends Serve.
func (e *Echo) Close() error { return e.udp.Close() }

// Serve answers until Close, and then returns net.ErrClosed.
func (e *Echo) Serve() error {
	for {
		packets, err := e.udp.Read(time.Time{})
		if err != nil {
			return err
		}
		for _, p := range packets {
			e.answer(p)
		}
		if err := e.keep(packets); err != nil {
			return err
		}
		if err := e.udp.Write(&e.out); err != nil {
			return err
		}
		e.out.Reset()
	}
}

func (e *Echo) keep(packets []transport.Packet) error {
	if e.log == nil || len(packets) == 0 {
		return nil
	}
	e.line = e.line[:0]
	for _, p := range packets {
		e.line = append(e.line, p.Data...)
	}
	if _, err := e.log.Write(e.line); err != nil {
		return err
	}
	return e.log.Sync()
}

func (e *Echo) answer(p transport.Packet) {
	if len(p.Data) < wire.HeaderSize {
		return
	}
	reply := e.update
	switch wire.Control(p.Data[0]) {
	case wire.CtrlPlayerMove:
		// The client numbers its requests from 1 and says hello first: the number of the
		// server's next packet is one less than the request's.
		copy(reply[4:20], p.Data[4:20])
		seq := binary.BigEndian.Uint32(p.Data[28:])
		wire.SetSeq(reply, seq-1)
		binary.BigEndian.PutUint64(reply[e.answers:], uint64(seq))
	case wire.CtrlClientHello:
		reply = e.hello
		token := tokenOf(p.Peer.Addr)
		copy(reply[4:20], token[:])
	default:
		return
	}
	copy(e.ack[4:32], p.Data[4:32])
	e.out.Send(p.Peer, e.ack)
	e.out.Send(p.Peer, reply)
}

// tokenOf returns the token of an address, which is made of the address.
func tokenOf(a netip.AddrPort) (t wamble.Token) {
	t = a.Addr().As16()
	binary.BigEndian.PutUint16(t[:], a.Port())
	return t
}
