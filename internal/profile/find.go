package profile

import (
	"cmp"
	"slices"
	"time"

	"wamble"
	"wamble/internal/board"
)

// BoardQuery is what a host looks for among the boards in memory. What is zero does not
// matter.
type BoardQuery struct {
	Board    wamble.BoardID   // this one
	Session  wamble.SessionID // or the one that this session holds
	Handle   string           // of who holds it
	Statuses []wamble.BoardStatus
	Still    time.Duration // nobody has moved for so long
}

// FoundBoard is a board that a host looked for.
type FoundBoard struct {
	Profile string           `json:"profile"`
	Board   wamble.BoardID   `json:"board"`
	Status  string           `json:"status"`
	Plies   int              `json:"plies"`
	Holder  wamble.SessionID `json:"holder,omitempty"` // a session; 0: nobody
	Handle  string           `json:"handle,omitempty"` // of the holder; "": a guest
	Moved   time.Time        `json:"moved,omitzero"`
	Created time.Time        `json:"created"`
	FEN     string           `json:"fen"`
}

// maxLooked is how many boards a search looks at: the loop waits for it.
const maxLooked = 50_000

// FindBoards returns boards that match, those that moved last first, at most so many.
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
		if looked++; looked > maxLooked {
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
			Profile: p.cfg.Name, Board: m.id, Status: b.Status().String(), Plies: b.Plies(), Holder: b.Holder(), Handle: p.HandleOf(b.Holder()),
			Created: p.clock.label(b.Created()), FEN: b.FEN(),
		}
		if !m.moved.IsZero() {
			f.Moved = p.clock.label(m.moved)
		}
		found = append(found, f)
	}
	return found
}
