package readapi

import (
	"context"
	"errors"
	"fmt"

	"wamble/internal/store"

	"wamble"
)

// Leaderboard is the JSON of a page of the ranking.
type Leaderboard struct {
	By     string `json:"by"`               // "score" or "rating"
	Of     string `json:"of"`               // "people" or "bots"
	Season int    `json:"season,omitempty"` // a month, as 202611; 0 for all time
	Total  int    `json:"total"`
	Rows   []Rank `json:"rows"`
	Self   *Rank  `json:"self,omitempty"`
}

// Rank is the JSON of one row.
type Rank struct {
	Rank            int              `json:"rank"`
	Session         wamble.SessionID `json:"session"`
	Handle          string           `json:"handle,omitempty"`
	Bot             bool             `json:"bot,omitempty"` // the player is a program
	Score           float64          `json:"score"`
	PredictionScore float64          `json:"prediction_score"`
	Rating          float64          `json:"rating"`
	Games           int              `json:"games"`
}

func rankOf(row wamble.LeaderboardRow, bot bool) Rank {
	return Rank{Rank: row.Rank, Session: row.Session, Handle: row.Handle, Bot: bot, Score: row.Stats.Score,
		PredictionScore: row.Stats.PredictionScore,
		Rating:          row.Stats.Rating, Games: row.Stats.Games}
}

func (a *API) leaderboard(r reader) (*answer, error) {
	// Parse the query.
	by := r.URL.Query().Get("by")
	if by == "" {
		by = "score"
	}
	if by != "score" && by != "rating" {
		return nil, badf("by is score or rating")
	}
	of := r.URL.Query().Get("of")
	if of == "" {
		of = "people"
	}
	if of != "people" && of != "bots" {
		return nil, badf("of is people or bots")
	}
	limit, err := r.number("limit")
	if err != nil {
		return nil, err
	}
	offset, err := r.number("offset")
	if err != nil {
		return nil, err
	}
	season, err := a.season(r)
	if err != nil {
		return nil, err
	}
	// Answer from the cache, which has one entry per page and reader.
	key := fmt.Sprintf("ranks %s %s %d %d %d %s", by, of, season, limit, offset, r.Token)
	return a.ask(r, key, func(ctx context.Context) (*answer, error) {
		q := wamble.LeaderboardQuery{Season: season, Bots: of == "bots", ByRating: by == "rating", Offset: offset,
			Limit: limit}
		if !r.Token.IsZero() {
			s, err := a.o.Store.Session(ctx, r.Token)
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return nil, err
			}
			q.Self = s.ID
		}
		page, err := a.o.Store.Leaderboard(ctx, q)
		if err != nil {
			return nil, err
		}
		out := Leaderboard{By: by, Of: of, Season: season, Total: page.Total, Rows: make([]Rank, len(page.Rows))}
		for i, row := range page.Rows {
			out.Rows[i] = rankOf(row, q.Bots)
		}
		if page.Self != nil && page.Self.Rank > 0 { // rank 0: the reader is in the other ranking
			self := rankOf(*page.Self, q.Bots)
			out.Self = &self
		}
		got, err := inJSON(out, playerGood)
		if err == nil {
			got.own = !r.Token.IsZero()
		}
		return got, err
	})
}

// season returns the month in the query; 0 for all time.
func (a *API) season(r reader) (int, error) {
	switch text := r.URL.Query().Get("season"); text {
	case "":
		return 0, nil
	case "now":
		return wamble.SeasonOf(a.o.Now()), nil
	}
	return r.number("season")
}
