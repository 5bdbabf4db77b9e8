package readapi

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"wamble"
)

// Feed is the games that have ended, in order, numbered from 1.
type Feed interface {
	// Name names the numbering: with another name numbers mean other games. It is
	// 8 hexadecimal digits.
	Name() string
	// End is the newest number.
	End() uint64
	// Read returns up to limit games behind a number, and up to which number it
	// has looked; gone if some of them were dropped.
	Read(after uint64, limit int) (games []Ended, upTo uint64, gone bool, err error)
	// Changed returns a channel that is closed when there are more games; nil when
	// nobody is to wait for them.
	Changed() <-chan struct{}
}

// Ended is a game that is over.
type Ended struct {
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
	after, err := a.after(r.URL.Query().Get("after"))
	if err != nil {
		return nil, err
	}
	if r.URL.Query().Has("last") {
		last, err := r.number("last")
		if err != nil {
			return nil, err
		}
		limit, after = last, a.o.Feed.End()-min(uint64(last), a.o.Feed.End())
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
		games, upTo, gone, err := a.o.Feed.Read(after, limit)
		switch {
		case err != nil:
			return nil, err
		case gone:
			return nil, errGone
		}
		if len(games) > 0 || wait == 0 || changed == nil {
			return a.lines(games, upTo)
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

func (a *API) lines(games []Ended, upTo uint64) (*answer, error) {
	var body []byte
	for _, g := range games {
		text, err := json.Marshal(line{a.cursor(g.Seq), g.Board, g.Winner, g.Reason, g.Plies, g.Seconds, g.Finished.UTC()})
		if err != nil {
			return nil, err
		}
		body = append(append(body, text...), '\n')
	}
	return &answer{kind: linesType, body: body, next: a.cursor(upTo)}, nil
}

// cursor writes a place in the feed, after reads it.
func (a *API) cursor(seq uint64) string { return fmt.Sprintf("%s-%d", a.o.Feed.Name(), seq) }

func (a *API) after(cursor string) (uint64, error) {
	switch cursor {
	case "":
		return 0, nil
	case "end":
		return a.o.Feed.End(), nil
	}
	name, digits, _ := strings.Cut(cursor, "-")
	seq, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || len(name) != 8 {
		return 0, badf("after is a cursor of the feed, or end")
	}
	if name != a.o.Feed.Name() || seq > a.o.Feed.End() {
		return 0, errGone
	}
	return seq, nil
}
