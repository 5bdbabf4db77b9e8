package readapi

import (
	"context"
	"sync"
	"time"

	"wamble"
)

// Counts has the current counts of a profile.
type Counts struct {
	Players     int // players present who hold a board or wait for one
	Bots        int // sessions of programs that are present
	Sessions    int // sessions in memory
	Watchers    int
	Boards      [wamble.Archived]int // by status
	Moves       uint64               // since the profile started
	Games       uint64               // finished since then
	MostWatched []Watched            // boards with most watchers, at most MostWatchedBoards
}

// MostWatchedBoards bounds the boards with most watchers that are listed.
const MostWatchedBoards = 5

// Watched is a board with the number of sessions that watch only it.
type Watched struct {
	Board    wamble.BoardID `json:"board"`
	Watchers int            `json:"watchers"`
}

// Live is the JSON of Counts.
type Live struct {
	Profile  string    `json:"profile"`
	At       time.Time `json:"at"`
	Players  int       `json:"players"`
	Bots     int       `json:"bots"`
	Sessions int       `json:"sessions"`
	Watchers int       `json:"watchers"`
	Boards   Boards    `json:"boards"`
	Moves    uint64    `json:"moves"`
	// MovesPerSecond is nil if there was no request in the last minute.
	MovesPerSecond *float64  `json:"moves_per_second,omitempty"`
	Games          uint64    `json:"games"`
	Watched        []Watched `json:"watched,omitempty"`
}

// Boards is the JSON of the numbers of boards.
type Boards struct {
	Active   int `json:"active"`
	Reserved int `json:"reserved"`
	Dormant  int `json:"dormant"`
	Total    int `json:"total"`
}

const liveGood = time.Second

func (a *API) live(r reader) (*answer, error) {
	return a.ask(r, "live", func(ctx context.Context) (*answer, error) {
		c, err := a.o.Counts(ctx)
		if err != nil {
			return nil, err
		}
		now := a.o.Now().UTC()
		b := Boards{Active: c.Boards[wamble.Active], Reserved: c.Boards[wamble.Reserved],
			Dormant: c.Boards[wamble.Dormant]}
		b.Total = b.Active + b.Reserved + b.Dormant
		return inJSON(Live{
			Profile: a.o.Profile, At: now.Truncate(time.Millisecond), Players: c.Players, Bots: c.Bots,
			Sessions: c.Sessions, Watchers: c.Watchers,
			Boards: b, Moves: c.Moves, MovesPerSecond: a.moveRate.since(now, c.Moves), Games: c.Games,
			Watched: c.MostWatched,
		}, liveGood)
	})
}

// moveRate stores the time and the number of moves of the last request.
type moveRate struct {
	mu    sync.Mutex
	at    time.Time
	moves uint64
}

// since returns the moves per second since the last request; nil if that was more than a
// minute ago or the counter has restarted.
func (p *moveRate) since(now time.Time, moves uint64) *float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	span, made := now.Sub(p.at), float64(moves)-float64(p.moves)
	p.at, p.moves = now, moves
	if span <= 0 || span > time.Minute || made < 0 {
		return nil
	}
	rate := made / span.Seconds()
	return &rate
}
