package mesh

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"wamble"
	"wamble/wire"
)

// Kind is the type of a frame.
type Kind uint8

// The kinds of frames. Their numbers are on the wire and never reused.
const (
	KindPacket Kind = 1 + iota // packet of a player, to the node that serves them
	KindEnded                  // the connection of a player has ended
	KindLook                   // nodes or holders of partitions have changed in the database
	KindReply                  // packet to a player, to the node they are connected to
	KindHangUp                 // the connection of a player is to be closed
)

// back reports whether a frame is sent to the node that has dialled.
func (k Kind) back() bool { return k >= KindReply }

// Frame is a message between two nodes. The bytes of a received frame are valid until Receive returns.
type Frame struct {
	Kind Kind
	Part uint8  // the shard
	Name []byte // of a profile
	// Client is the client that a packet is from or to; the zero value if there is none. Its Node, the
	// node to which it is connected, is not written: it is one of the two ends.
	Client wamble.Peer
	Data   []byte
}

// ErrFrame is returned for invalid frames.
var ErrFrame = errors.New("not a frame")

const (
	// MaxName bounds the name of a node, a profile, or a question, in bytes.
	MaxName = 63
	// maxAddress bounds an encoded address with its zone, in bytes.
	maxAddress = 64
	// maxFrame bounds what follows the length of a frame, in bytes.
	maxFrame = 1 + 1 + 1 + MaxName + 1 + maxAddress + 4 + wire.MaxPacket
)

// Append appends an encoded frame:
//
//	length 4 of what follows | kind 1 | part 1 | length 1, name | length 1, address and port | route 4 | data
//
// Numbers are big-endian. Errors: ErrFrame if a field is too long; then dst is returned unchanged.
func (f *Frame) Append(dst []byte) ([]byte, error) {
	if len(f.Name) > MaxName || len(f.Data) > wire.MaxPacket {
		return dst, fmt.Errorf("%w: a name of %d bytes and data of %d", ErrFrame, len(f.Name), len(f.Data))
	}
	start := len(dst)
	b := append(dst, 0, 0, 0, 0, byte(f.Kind), f.Part, byte(len(f.Name)))
	b = append(b, f.Name...)
	at := len(b)
	b, err := f.Client.Addr.AppendBinary(append(b, 0))
	if err != nil || len(b)-at-1 > maxAddress {
		return dst, fmt.Errorf("%w: the address %v", ErrFrame, f.Client.Addr)
	}
	b[at] = byte(len(b) - at - 1)
	b = binary.BigEndian.AppendUint32(b, f.Client.Route)
	b = append(b, f.Data...)
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b, nil
}

// next decodes the first frame of b, whose bytes it retains, and returns its size; 0 if b does not have
// all of it. Errors: ErrFrame.
func (f *Frame) next(b []byte) (int, error) {
	if len(b) < 4 {
		return 0, nil
	}
	n := int(binary.BigEndian.Uint32(b))
	if n > maxFrame {
		return 0, fmt.Errorf("%w: it says that it has %d bytes", ErrFrame, n)
	}
	if len(b) < 4+n {
		return 0, nil
	}
	*f = Frame{}
	rest := b[4 : 4+n]
	if len(rest) >= 2 {
		f.Kind, f.Part, rest = Kind(rest[0]), rest[1], rest[2:]
		var address []byte
		f.Name, rest = field(rest)
		address, rest = field(rest)
		if len(rest) >= 4 && len(f.Name) <= MaxName && f.Client.Addr.UnmarshalBinary(address) == nil &&
			(f.Client.Addr.IsValid() || f.Kind == KindLook) && !f.Client.Addr.Addr().Is4In6() {
			f.Client.Route, f.Data = binary.BigEndian.Uint32(rest), rest[4:]
			return 4 + n, nil
		}
	}
	return 0, fmt.Errorf("%w: kind %d of %d bytes", ErrFrame, f.Kind, n)
}

// field splits off a field that is preceded by its length in a byte. Rest is nil if b is too short.
func field(b []byte) (value, rest []byte) {
	if len(b) == 0 || int(b[0]) > len(b)-1 {
		return nil, nil
	}
	n := 1 + int(b[0])
	return b[1:n:n], b[n:]
}

// readBuffer is the size of reads and writes in bytes.
const readBuffer = 64 << 10

// readFrames reads frames, and calls deliver for those of each read, until an error. The clients of the
// frames are at node.
func readFrames(r io.Reader, node uint32, deliver func([]Frame)) error {
	buffer, have := make([]byte, max(readBuffer, 4+maxFrame)), 0
	var frames []Frame
	for {
		n, failed := r.Read(buffer[have:])
		have += n
		used := 0
		frames = frames[:0]
		for {
			var f Frame
			n, err := f.next(buffer[used:have])
			if err != nil {
				return err
			}
			if n == 0 {
				break
			}
			used += n
			f.Client.Node = node
			frames = append(frames, f)
		}
		if len(frames) > 0 {
			deliver(frames)
		}
		if failed != nil {
			return failed
		}
		have = copy(buffer, buffer[used:have])
	}
}
