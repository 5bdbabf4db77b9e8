package board

import (
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"

	"wamble"
	"wamble/chess"
	"wamble/internal/pack"
)

// ErrState is returned if the bytes of a snapshot are damaged or of another version.
var ErrState = errors.New("the state of the boards is damaged or of another version")

// A snapshot is, in little endian:
//
//	magic, now, number of boards, number of the free ones in play, number of those
//	asleep
//	for every board, in the order of the index: free, held, asleep:
//	    id, version, holder or former holder, five times      8 bytes each
//	    variant 2, status 1, flags 1, length of history 1, plies 2
//	    position (packed), plies (12 bytes each), history (8 bytes each)
//	    if a flag says so: the players of the plies (4 bytes each)
//
// The number in the magic is the version. A hundred thousand boards must load in a tenth of a second, so
// positions are packed; their FEN is written when it is needed.
const (
	magic     = "wamble boards 4\n"
	boardSize = 8*8 + 7 + chess.PackedSize
)

// The flags of a board; the bits between them are its reach.
const (
	flagIdentity = 1
	flagGone     = 2
	reachShift   = 2
	flagPlayers  = 128
)

// The sizes of a ply, of a key of the history, and of a player.
const plySize, keySize, playerSize = 12, 8, 4

// usualSize is about the size of a board in a snapshot.
const usualSize = 256

// Snapshot appends the whole pool to dst, for Load in another process, which then gives the same answers.
// It leaves out finished boards.
func (p *Pool) Snapshot(dst []byte) []byte {
	w := binary.LittleEndian
	dst = append(slices.Grow(dst, p.Len()*usualSize), magic...)
	dst = w.AppendUint64(dst, uint64(p.now))
	dst = w.AppendUint32(dst, uint32(p.Len()))
	dst = w.AppendUint32(dst, uint32(p.free))
	dst = w.AppendUint32(dst, uint32(len(p.asleep)))
	for b := range p.All() {
		dst = b.snapshot(dst)
	}
	return dst
}

func (b *Board) snapshot(dst []byte) []byte {
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

// Load returns the pool of a snapshot. Errors: ErrState for bytes that Snapshot cannot have written.
func Load(opts Options, newID NewID, rng *rand.Rand, state []byte) (*Pool, error) {
	r := &reader{Reader: pack.NewReader(state)}
	if string(r.Take(len(magic))) != magic {
		return nil, ErrState
	}
	p := New(opts, newID, rng)
	p.now = int64(r.uint64())
	count, free, asleep := int(r.uint32()), int(r.uint32()), int(r.uint32())
	if r.Bad() || count > r.Remaining()/boardSize || free+asleep > count {
		return nil, ErrState
	}
	p.boards = make(map[wamble.BoardID]*Board, count)
	p.inPlay = make([]candidate, 0, count-asleep)
	p.asleep = make(sleepers, 0, asleep)
	p.holders = make(map[wamble.SessionID]*Board, count-free-asleep)
	for i := range count {
		b := r.board()
		if r.Bad() || !p.adopt(b, i >= count-asleep) {
			return nil, ErrState
		}
	}
	if !r.Ended() || p.free != free || len(p.asleep) != asleep || len(p.boards) != count { // fewer: a number came twice
		return nil, ErrState
	}
	return p, nil
}

// adopt adds a board of a snapshot, and reports false if its state is invalid.
func (p *Pool) adopt(b *Board, sleeps bool) bool {
	held := b.status == wamble.Reserved
	switch {
	case b.id == 0 || b.status > wamble.Dormant:
		return false
	case b.variant < -1 || b.variant > 959 || len(b.plies) > b.position.Ply():
		return false
	case held && b.holder == 0 || !held && (b.identity || b.holderAway || b.reach > 0) || b.reach > Closed ||
		b.holder < 0 || b.holder > maxSession:
		return false
	case b.holder != 0 && (p.holders[b.holder] != nil || p.former[b.holder] != nil):
		return false
	case held && sleeps || !held && !sleeps && p.free != len(p.inPlay):
		return false // a free board after a held one
	}
	if held {
		p.insert(b)
		p.setHolder(b, b.holder, b.identity)
		if b.holderAway {
			p.awayCount++
		}
		p.setAlarm(b)
		return true
	}
	if b.holder != 0 {
		b.former, b.holder = b.holder, 0
		p.former[b.former] = b
	}
	if sleeps {
		last := len(p.asleep)
		if p.addAsleep(b); int(b.index) != last {
			return false // not a heap
		}
	} else {
		p.insert(b)
		p.setFree(b)
	}
	if at, ok := p.deadline(b); ok {
		p.deadlines.sooner(b, at)
	}
	return true
}

// reader decodes a snapshot. Its numbers have a fixed size.
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

func (r *reader) uint32() uint32 {
	if b := r.Take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

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
	b.identity, b.holderAway = flags&flagIdentity != 0, flags&flagGone != 0
	b.reach = Reach(flags &^ flagPlayers >> reachShift)
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
