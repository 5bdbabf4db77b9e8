package spectate

import (
	"encoding/binary"

	"wamble/wire"
)

// view is a board encoded for a summary or a focus, without token and generation.
type view struct {
	packet []byte
	of     uint64 // the change that it shows; 0: none
}

// generationAt returns the offset of the generation in a packet with a position of n bytes: behind the
// header and the position, version and count of the trailer, and the length of the key, the key and the
// type of the field.
func generationAt(n int) int {
	return wire.HeaderSize + n + 2 + 1 + len(wire.KeySpectateGeneration) + 1
}

// viewOf returns the view of a board, encoded anew if the board has changed.
func (h *Hub) viewOf(e *entry, s state) *view {
	v := &e.views[s-summary]
	if v.of != e.change {
		v.packet = h.encode(v.packet[:0], e, s, wire.FlagUnreliable, 0, "")
		v.of = e.change
	}
	return v
}

// encode appends a board as a packet. A board that is gone has no position in a summary.
func (h *Hub) encode(dst []byte, e *entry, s state, flags wire.Flags, generation int64, name string) []byte {
	ext := h.bytes.fields[:0]
	if name != "" {
		ext = append(ext, wire.String(wire.KeySpectateState, name))
	}
	if s == summary {
		ext = append(ext, wire.Int(wire.KeySpectateGeneration, generation))
	}
	b := &e.board
	var fen wire.Text
	if !e.removed || s == focus {
		fen = wire.Text(wire.ShortFEN(b.Position.AppendFEN(h.bytes.fen[:0])))
		if b.From != b.To {
			ext = append(ext, wire.Int(wire.KeyLastMoveFrom, int64(b.From)), wire.Int(wire.KeyLastMoveTo, int64(b.To)))
		}
	}
	ext = append(ext, wire.Int(wire.KeyBoardPly, int64(b.Position.Ply())),
		wire.Int(wire.KeyBoardVersion, int64(b.Version)))
	if b.Bot {
		ext = append(ext, wire.Int(wire.KeyBoardBot, 1))
	}
	if b.Chess960 {
		flags |= wire.FlagBoardIs960
	}
	return h.append(dst, wire.Header{Flags: flags, Board: b.ID}, wire.SpectateUpdate{FEN: fen}, ext)
}

// append encodes one update. Updates always fit.
func (h *Hub) append(dst []byte, head wire.Header, m wire.SpectateUpdate, ext []wire.Field) []byte {
	packet, err := wire.Append(dst, head, m, ext...)
	if err != nil {
		panic("spectate: a board that cannot be encoded: " + err.Error())
	}
	return packet
}

// shown returns the view of a board for one watcher, valid until the next call.
func (h *Hub) shown(w *watcher, e *entry, s state) []byte {
	v := h.viewOf(e, s)
	p := append(h.bytes.copy[:0], v.packet...)
	h.bytes.copy = p
	if s == summary {
		binary.BigEndian.PutUint64(p[generationAt(fenLen(p)):], uint64(w.seen.generation))
	}
	return w.personalize(p)
}

// fenLen returns the length of the position in an encoded view: its payload without the trailer.
func fenLen(p []byte) int {
	n := len(p)
	return n - wire.HeaderSize - int(binary.BigEndian.Uint16(p[n-2:])) - 4
}

// personalize writes the token of a watcher into a packet, and clears what they may not see.
func (w *watcher) personalize(p []byte) []byte {
	copy(p[4:20], w.token[:])
	if !w.modes {
		p[1] &^= byte(wire.FlagBoardIs960)
	}
	return p
}

// reliably returns a board in a reliable packet with the state, as at the beginning of watching.
func (h *Hub) reliably(w *watcher, e *entry, s state) []byte {
	name := wire.SpectateSummary
	if s == focus {
		name = wire.SpectateFocus
	}
	h.bytes.copy = h.encode(h.bytes.copy[:0], e, s, 0, w.seen.generation, name)
	return w.personalize(h.bytes.copy)
}

// reset returns the packet that begins a summary.
func (h *Hub) reset(w *watcher, reliable bool) []byte {
	ext, flags := h.bytes.fields[:0], wire.FlagUnreliable
	if reliable {
		ext, flags = append(ext, wire.String(wire.KeySpectateState, wire.SpectateSummary)), 0
	}
	ext = append(ext, wire.Int(wire.KeySpectateGeneration, w.seen.generation))
	h.bytes.extra = h.append(h.bytes.extra[:0], wire.Header{Flags: flags}, wire.SpectateUpdate{}, ext)
	return w.personalize(h.bytes.extra)
}

// idle returns the packet that says that nothing is watched.
func (h *Hub) idle(w *watcher) []byte {
	ext := append(h.bytes.fields[:0], wire.String(wire.KeySpectateState, wire.SpectateIdle))
	h.bytes.extra = h.append(h.bytes.extra[:0], wire.Header{}, wire.SpectateUpdate{}, ext)
	return w.personalize(h.bytes.extra)
}

// The flags of a notice that watching has ended.
const (
	focusEnded = wire.FlagUnreliable | wire.FlagSummaryFallback
	stopped    = wire.FlagUnreliable | wire.FlagSpectateStopped
)

// notice returns the packet of a notice to a watcher.
func (h *Hub) notice(w *watcher, flags wire.Flags, text string) []byte {
	m := wire.ServerNotification{Type: wire.NoticeSpectateEnded, Text: wire.Text(text)}
	packet, err := wire.Append(h.bytes.extra[:0], wire.Header{Flags: flags, Board: w.board}, m)
	if err != nil {
		panic("spectate: a notice that cannot be encoded: " + err.Error())
	}
	h.bytes.extra = packet
	return w.personalize(packet)
}
