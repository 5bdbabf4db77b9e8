package readapi

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"wamble"
)

// Feed is the games that have ended. It has parts, in each of which they are in order and
// numbered from 1.
type Feed interface {
	// Parts is how many parts it has, at least 1.
	Parts() int
	// Name names the numbering: with another name numbers mean other games. It is
	// 8 hexadecimal digits. It may fail with ErrStarting.
	Name() (string, error)
	// End is the newest numbers. It may fail with ErrStarting.
	End(ctx context.Context) (Marks, error)
	// Read returns up to limit games behind numbers, and up to which numbers it has
	// looked; gone if some of them were dropped, or a number never was. A part that
	// cannot be read now stays where it was. It may fail with ErrStarting.
	Read(ctx context.Context, after Marks, limit int) (games []Ended, upTo Marks, gone bool, err error)
	// Changed returns a channel that is closed when there are more games; nil when
	// nobody is to wait for them.
	Changed() <-chan struct{}
}

// Marks are numbers of games, one for each part of a feed.
type Marks []uint64

// before is the marks n games before m in each part.
func (m Marks) before(n int) Marks {
	m = slices.Clone(m)
	for i := range m {
		m[i] -= min(uint64(n), m[i])
	}
	return m
}

// Ended is a game that is over.
type Ended struct {
	Part     int // of the feed
	Seq      uint64
	Board    wamble.BoardID
	Winner   string
	Reason   string
	Plies    int
	Seconds  float64
	Finished time.Time
}

// line is the JSON of a game in the feed.
type line struct {
	Cursor   string         `json:"cursor"`
	Board    wamble.BoardID `json:"board"`
	Winner   string         `json:"winner"`
	Reason   string         `json:"reason"`
	Plies    int            `json:"plies"`
	Seconds  float64        `json:"seconds"`
	Finished time.Time      `json:"finished"`
}

func (a *API) finished(r reader) (*answer, error) {
	limit, err := r.number("limit")
	if err != nil {
		return nil, err
	}
	wait, err := r.number("wait")
	if err != nil {
		return nil, err
	}
	if r.URL.Query().Has("last") {
		return a.last(r)
	}
	name, err := a.o.Feed.Name()
	if err != nil {
		return nil, err
	}
	after, err := a.after(r.Context(), name, r.URL.Query().Get("after"))
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		select {
		case a.waits <- struct{}{}:
			defer func() { <-a.waits }()
		default:
			wait = 0 // too many wait already: this one asks again
		}
	}
	timer := time.NewTimer(time.Duration(wait) * time.Second)
	defer timer.Stop()
	for {
		changed := a.o.Feed.Changed() // before reading, so that nothing is missed
		games, upTo, gone, err := a.o.Feed.Read(r.Context(), after, limit)
		switch {
		case err != nil:
			return nil, err
		case gone:
			return nil, errGone
		}
		if len(games) > 0 || wait == 0 || changed == nil {
			return lines(name, after, games, upTo)
		}
		after = upTo
		select {
		case <-changed:
		case <-timer.C:
			wait = 0
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
}

// last answers with the newest games.
func (a *API) last(r reader) (*answer, error) {
	n, err := r.number("last")
	if err != nil {
		return nil, err
	}
	name, err := a.o.Feed.Name()
	if err != nil {
		return nil, err
	}
	end, err := a.o.Feed.End(r.Context())
	if err != nil {
		return nil, err
	}
	after := end.before(n)
	games, upTo, gone, err := a.o.Feed.Read(r.Context(), after, n*len(after))
	switch {
	case err != nil:
		return nil, err
	case gone:
		return nil, errGone
	}
	older := games[:max(0, len(games)-n)]
	for _, g := range older {
		after[g.Part] = g.Seq
	}
	return lines(name, after, games[len(older):], upTo)
}

// lines writes the games behind the marks after.
func lines(name string, after Marks, games []Ended, upTo Marks) (*answer, error) {
	var body []byte
	at := slices.Clone(after)
	for _, g := range games {
		at[g.Part] = g.Seq
		text, err := json.Marshal(line{at.cursor(name), g.Board, g.Winner, g.Reason, g.Plies, g.Seconds, g.Finished.UTC()})
		if err != nil {
			return nil, err
		}
		body = append(append(body, text...), '\n')
	}
	return &answer{kind: linesType, body: body, next: upTo.cursor(name)}, nil
}

// cursor writes a place in the feed, after reads it.
func (m Marks) cursor(name string) string {
	text := []byte(name)
	for _, seq := range m {
		text = strconv.AppendUint(append(text, '-'), seq, 10)
	}
	return string(text)
}

func (a *API) after(ctx context.Context, name, cursor string) (Marks, error) {
	switch cursor {
	case "":
		return make(Marks, a.o.Feed.Parts()), nil
	case "end":
		return a.o.Feed.End(ctx)
	}
	of, numbers, _ := strings.Cut(cursor, "-")
	var m Marks
	for digits := range strings.SplitSeq(numbers, "-") {
		seq, err := strconv.ParseUint(digits, 10, 63)
		if err != nil || len(of) != 8 {
			return nil, badf("after is a cursor of the feed, or end")
		}
		m = append(m, seq)
	}
	if of != name || len(m) != a.o.Feed.Parts() {
		return nil, errGone
	}
	return m, nil
}
