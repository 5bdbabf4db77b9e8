package readapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"wamble/internal/store"

	"wamble"
)

// playerGood is the lifetime of stats and ranks, as in the original server.
const playerGood = 5 * time.Second

// Player is the JSON of a player.
type Player struct {
	Handle          string    `json:"handle"`
	Created         time.Time `json:"created"`
	Score           float64   `json:"score"`
	PredictionScore float64   `json:"prediction_score"`
	Rating          float64   `json:"rating"`
	Games           int       `json:"games"`
	Chess960Games   int       `json:"chess960_games"`
}

// Scores is the JSON of a page of a player's finished games.
type Scores struct {
	Handle string  `json:"handle"`
	Scores []Score `json:"scores"`
	Next   string  `json:"next,omitempty"`
}

// Score is the JSON of a player's points and rating from one finished game.
type Score struct {
	Board  wamble.BoardID `json:"board"`
	Points float64        `json:"points"`
	Rating float64        `json:"rating"`
	At     time.Time      `json:"at"`
}

// handle returns the folded handle in the path.
func (r reader) handle() (string, error) {
	h := r.PathValue("handle")
	if !wamble.IsName(h) {
		return "", badf("a handle has 3 to 63 of A-Z, a-z, 0-9, - and _")
	}
	return wamble.FoldName(h), nil
}

// find reads the player with a handle.
func (a *API) find(ctx context.Context, handle string) (wamble.Player, error) {
	s, err := a.o.Store.SessionByHandle(ctx, handle)
	if err != nil {
		return wamble.Player{}, err
	}
	return a.o.Store.Player(ctx, s.Key)
}

func (a *API) player(r reader) (*answer, error) {
	handle, err := r.handle()
	if err != nil {
		return nil, err
	}
	return a.aboutPlayer(r, "player "+handle, func(ctx context.Context) (*answer, error) {
		p, err := a.find(ctx, handle)
		if err != nil {
			return nil, err
		}
		return about(&p, Player{
			p.Handle, p.Created.UTC(), p.Stats.Score, p.Stats.PredictionScore, p.Stats.Rating, p.Stats.Games,
			p.Stats.Chess960Games,
		})
	})
}

// aboutPlayer returns an answer about a player from the cache, or by calling ask. The reader's
// right to it is checked afterwards, because it may depend on the player.
func (a *API) aboutPlayer(r reader, key string, ask func(ctx context.Context) (*answer, error)) (*answer, error) {
	got, err := a.ask(r, key, ask)
	if err != nil {
		return nil, err
	}
	r.About = got.about
	return got, a.admit(r.Context(), r.Who, mayRead)
}

func about(p *wamble.Player, v any) (*answer, error) {
	got, err := inJSON(v, playerGood)
	if err == nil {
		got.about = p
	}
	return got, err
}

func (a *API) scores(r reader) (*answer, error) {
	handle, err := r.handle()
	if err != nil {
		return nil, err
	}
	limit, err := r.number("limit")
	if err != nil {
		return nil, err
	}
	q := wamble.ScoreQuery{Limit: limit}
	if text := r.URL.Query().Get("before"); text != "" {
		if q.Before, q.Board, err = parseBefore(text); err != nil {
			return nil, err
		}
	}
	key := fmt.Sprintf("scores %s %d %d %d", handle, limit, q.Before.UnixMicro(), q.Board)
	return a.aboutPlayer(r, key, func(ctx context.Context) (*answer, error) {
		p, err := a.find(ctx, handle)
		if errors.Is(err, store.ErrNotFound) {
			// A player with a new identity is not in the store yet.
			return about(&p, Scores{Handle: handle, Scores: []Score{}})
		}
		if err != nil {
			return nil, err
		}
		q.Player = p.ID
		rows, err := a.o.Store.Scores(ctx, q)
		if err != nil {
			return nil, err
		}
		page := Scores{Handle: handle, Scores: make([]Score, len(rows))}
		for i, row := range rows {
			page.Scores[i] = Score{row.Board, row.Points, row.Rating, row.At.UTC()}
		}
		if len(rows) == limit {
			last := rows[len(rows)-1]
			page.Next = fmt.Sprintf("%d-%d", last.At.UnixMicro(), last.Board)
		}
		return about(&p, page)
	})
}

// parseBefore parses a position in the score history: microseconds and a board.
func parseBefore(text string) (time.Time, wamble.BoardID, error) {
	at, board, _ := strings.Cut(text, "-")
	micros, err := strconv.ParseInt(at, 10, 52)
	id, err2 := strconv.ParseInt(board, 10, 64)
	if err != nil || err2 != nil || micros <= 0 || id < 0 {
		return time.Time{}, 0, badf("before is what the last answer said as next")
	}
	return time.UnixMicro(micros).UTC(), wamble.BoardID(id), nil
}

// number parses a number of the query, within the bounds of the route's row. A missing number
// is the row's usual value.
func (r reader) number(name string) (int, error) {
	i := slices.IndexFunc(r.row.query, func(p param) bool { return p.name == name })
	p := r.row.query[i]
	text := r.URL.Query().Get(name)
	if text == "" {
		return p.usual, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < p.low || n > p.high {
		return 0, badf("%s is a number from %d to %d", name, p.low, p.high)
	}
	return n, nil
}
