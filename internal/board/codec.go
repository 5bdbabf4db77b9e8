package board

import (
	"encoding/binary"
	"errors"

	"wamble"
	"wamble/chess"
	"wamble/internal/pack"
)

// ErrState is returned if the bytes of a state are damaged or of another version.
var ErrState = errors.New("the state of the boards is damaged or of another version")

// The state of a board is, in little endian:
//
//	id, version, holder or former holder, five times      8 bytes each
//	variant 2, status 1, flags 1, length of history 1, plies 2
//	position (packed), plies (12 bytes each), history (8 bytes each)
//	if a flag says so: the players of the plies (4 bytes each)
//
// A hundred thousand boards must load in a tenth of a second, so positions are packed; their FEN is written
// when it is needed.

// The flags of a board; two bits between them are its reach.
const (
	flagIdentity = 1
	flagGone     = 2
	reachShift   = 2
	reachMask    = 3 << reachShift
	flagAsleep   = 16
	flagPlayers  = 128
	allFlags     = flagIdentity | flagGone | reachMask | flagAsleep | flagPlayers
)

// The sizes of a ply, of a key of the history, and of a player.
const plySize, keySize, playerSize = 12, 8, 4

// AppendState appends the state of the board to dst, for Resumption.Load.
func (b *Board) AppendState(dst []byte) []byte {
	w := binary.LittleEndian
	for _, n := range [...]uint64{
		uint64(b.id), b.version, uint64(max(b.holder, b.former)), uint64(b.times.created), uint64(b.times.assigned),
		uint64(b.times.reserved), uint64(b.times.lastSeen), uint64(b.times.moved),
	} {
		dst = w.AppendUint64(dst, n)
	}
	dst = w.AppendUint16(dst, uint16(b.variant))
	reach := b.reach
	if reach == Open {
		reach = Stream // a connection does not outlive its process
	}
	flags := byte(reach) << reachShift
	if b.identity {
		flags |= flagIdentity
	}
	if b.holderAway {
		flags |= flagGone
	}
	if b.asleep {
		flags |= flagAsleep
	}
	if b.players != nil {
		flags |= flagPlayers
	}
	dst = append(dst, byte(b.status), flags, byte(len(b.history)))
	dst = w.AppendUint16(dst, uint16(len(b.plies)))
	dst = b.position.AppendPacked(dst)
	for _, p := range b.plies {
		dst = w.AppendUint32(w.AppendUint32(w.AppendUint32(dst, p.head), p.who), p.after)
	}
	for _, key := range b.history {
		dst = w.AppendUint64(dst, key)
	}
	for _, player := range b.players {
		dst = w.AppendUint32(dst, player)
	}
	return dst
}

// reader decodes states. Its numbers have a fixed size.
type reader struct {
	pack.Reader
	// Slabs, see cut.
	boards []Board
	plies  []ply
	keys   []uint64
}

// cut takes n elements from a slab, which is allocated for atOnce of them. The memory of a slab is free
// when the games of all its elements have ended.
func cut[T any](slab *[]T, n, atOnce int) []T {
	if n > len(*slab) {
		*slab = make([]T, max(n, atOnce))
	}
	part := (*slab)[:n:n]
	*slab = (*slab)[n:]
	return part
}

func (r *reader) uint64() uint64 {
	if b := r.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (r *reader) int64() int64 { return int64(r.uint64()) }

func (r *reader) uint16() uint16 {
	if b := r.Take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (r *reader) board() *Board {
	b := &cut(&r.boards, 1, 32)[0]
	b.id, b.version, b.holder = wamble.BoardID(r.uint64()), r.uint64(), wamble.SessionID(r.uint64())
	b.times = times{
		created: r.int64(), assigned: r.int64(), reserved: r.int64(), lastSeen: r.int64(), moved: r.int64(),
	}
	b.variant, b.status = int16(r.uint16()), wamble.BoardStatus(r.Octet())
	flags := r.Octet()
	b.identity, b.holderAway, b.asleep = flags&flagIdentity != 0, flags&flagGone != 0, flags&flagAsleep != 0
	b.reach = Reach(flags & reachMask >> reachShift)
	r.Must(flags&^allFlags == 0)
	history, plies := int(r.Octet()), int(r.uint16())
	position, ok := chess.Unpack(r.Take(chess.PackedSize))
	b.position = position
	moves, keys := r.Take(plies*plySize), r.Take(history*keySize)
	var players []byte
	if flags&flagPlayers != 0 {
		players = r.Take(plies * playerSize)
	}
	r.Must(ok && history > 0)
	if r.Bad() {
		return b
	}
	b.plies = cut(&r.plies, plies, 512)
	for i := range b.plies {
		at := moves[i*plySize:]
		b.plies[i] = ply{
			head: binary.LittleEndian.Uint32(at), who: binary.LittleEndian.Uint32(at[4:]),
			after: binary.LittleEndian.Uint32(at[8:]),
		}
		r.Must(b.plies[i].move() != 0) // the zero Move is no move
		b.movers.add(b.plies[i].session())
	}
	if len(players) > 0 {
		b.players = make([]uint32, plies)
		for i := range b.players {
			b.players[i] = binary.LittleEndian.Uint32(players[i*playerSize:])
		}
	}
	if plies > 0 {
		b.last = b.plies[plies-1].move()
	}
	b.history = cut(&r.keys, history, 512)
	for i := range b.history {
		b.history[i] = binary.LittleEndian.Uint64(keys[i*keySize:])
	}
	r.Must(b.history[history-1] == b.position.Key())
	return b
}
