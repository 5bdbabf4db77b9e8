package profile

import (
	"cmp"
	"slices"
	"time"

	"wamble"
	"wamble/internal/board"
)

// BoardQuery selects boards in memory for the host. Zero fields are ignored.
type BoardQuery struct {
	Board    wamble.BoardID   // this one
	Session  wamble.SessionID // or the one that this session holds
	Handle   string           // of its holder
	Statuses []wamble.BoardStatus
	Still    time.Duration // since the last move
}

// FoundBoard is a board that matches a BoardQuery.
type FoundBoard struct {
	Profile string           `json:"profile"`
	Board   wamble.BoardID   `json:"board"`
	Status  string           `json:"status"`
	Plies   int              `json:"plies"`
	Holder  wamble.SessionID `json:"holder,omitempty"` // 0: no holder
	Handle  string           `json:"handle,omitempty"` // of the holder; "": a guest
	Moved   time.Time        `json:"moved,omitzero"`
	Created time.Time        `json:"created"`
	FEN     string           `json:"fen"`
}

// maxSearched bounds the boards or sessions that one search scans, since the loop waits for it.
const maxSearched = 50_000

// FindBoards returns at most most boards that match, the latest move first.
func (p *Profile) FindBoards(q BoardQuery, most int) []FoundBoard {
	now, looked := p.clock.now, 0
	boards := p.boards.All()
	if q.Board != 0 || q.Session != 0 {
		named := slices.Compact([]*board.Board{p.boards.Board(q.Board), p.boards.Held(q.Session)})
		boards = slices.Values(slices.DeleteFunc(named, func(b *board.Board) bool { return b == nil }))
	}
	type match struct {
		id    wamble.BoardID
		moved time.Time
	}
	var list []match
	for b := range boards {
		if looked++; looked > maxSearched {
			break
		}
		last := b.LastMoved()
		since := last
		if since.IsZero() {
			since = b.Created()
		}
		switch {
		case q.Handle != "" && (b.Holder() == 0 || p.HandleOf(b.Holder()) != q.Handle),
			len(q.Statuses) > 0 && !slices.Contains(q.Statuses, b.Status()),
			q.Still > 0 && now.Sub(since) < q.Still:
			continue
		}
		list = append(list, match{b.ID(), last})
	}
	slices.SortFunc(list, func(a, b match) int { return cmp.Or(b.moved.Compare(a.moved), cmp.Compare(a.id, b.id)) })
	found := []FoundBoard{}
	for _, m := range list[:min(most, len(list))] {
		b := p.boards.Board(m.id)
		if b == nil {
			continue
		}
		f := FoundBoard{
			Profile: p.cfg.Name, Board: m.id, Status: b.Status().String(), Plies: b.Plies(), Holder: b.Holder(),
			Handle:  p.HandleOf(b.Holder()),
			Created: p.clock.label(b.Created()), FEN: b.FEN(),
		}
		if !m.moved.IsZero() {
			f.Moved = p.clock.label(m.moved)
		}
		found = append(found, f)
	}
	return found
}
