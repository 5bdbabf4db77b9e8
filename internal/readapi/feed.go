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

// Feed is the log of finished games. It has one or more partitions, in each of which games
// are in order and numbered from 1.
type Feed interface {
	// Parts returns the number of partitions, at least 1.
	Parts() int
	// Name returns 8 hexadecimal digits that identify the numbering: numbers are valid for
	// one name only. Errors: ErrStarting.
	Name() (string, error)
	// End returns the last numbers. Errors: ErrStarting.
	End(ctx context.Context) (Positions, error)
	// Read returns up to limit games after the given numbers, and the numbers up to which
	// it has read. Gone says that some games were deleted, or a number is too high. A
	// partition that cannot be read now keeps its number. Errors: ErrStarting.
	Read(ctx context.Context, after Positions, limit int) (games []Ended, upTo Positions, gone bool, err error)
	// Changed returns a channel that is closed when there are more games; nil if readers
	// shall not wait.
	Changed() <-chan struct{}
}

// Positions has the number of a game for each partition of a feed.
type Positions []uint64

// before returns the positions n games before m in each partition.
func (m Positions) before(n int) Positions {
	m = slices.Clone(m)
	for i := range m {
		m[i] -= min(uint64(n), m[i])
	}
	return m
}

// Ended is a finished game.
type Ended struct {
	Part     int // partition of the feed
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
	// Take a slot of those who may wait.
	if wait > 0 {
		select {
		case a.waits <- struct{}{}:
			defer func() { <-a.waits }()
		default:
			wait = 0 // too many readers wait: answer at once
		}
	}
	// Read until there are games or the time is over.
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

// last answers with the last games.
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

// lines encodes games, which follow after. UpTo becomes the cursor of the answer.
func lines(name string, after Positions, games []Ended, upTo Positions) (*answer, error) {
	var body []byte
	at := slices.Clone(after)
	for _, g := range games {
		at[g.Part] = g.Seq
		text, err := json.Marshal(line{at.cursor(name), g.Board, g.Winner, g.Reason, g.Plies, g.Seconds,
			g.Finished.UTC()})
		if err != nil {
			return nil, err
		}
		body = append(append(body, text...), '\n')
	}
	return &answer{kind: linesType, body: body, next: upTo.cursor(name)}, nil
}

// cursor encodes a position in the feed.
func (m Positions) cursor(name string) string {
	text := []byte(name)
	for _, seq := range m {
		text = strconv.AppendUint(append(text, '-'), seq, 10)
	}
	return string(text)
}

// after decodes a cursor, or the word end. Error: errGone for a cursor of another feed.
func (a *API) after(ctx context.Context, name, cursor string) (Positions, error) {
	switch cursor {
	case "":
		return make(Positions, a.o.Feed.Parts()), nil
	case "end":
		return a.o.Feed.End(ctx)
	}
	of, numbers, _ := strings.Cut(cursor, "-")
	var m Positions
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
