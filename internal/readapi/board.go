package readapi

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"wamble"
	"wamble/internal/record"
)

// The lifetimes of running games, and of finished ones, which change only when a player gets
// or loses their handle.
const (
	runningGood  = time.Second
	finishedGood = time.Minute
)

// board answers with a board as JSON, without the game mode if the reader may not see it.
func (a *API) board(r reader) (*answer, error) {
	err := a.admit(r.Context(), r.Who, mayMode)
	if denied := new(wamble.Denied); errors.As(err, &denied) {
		return a.game(r, jsonType, "h", appendHidden)
	}
	if err != nil {
		return nil, err
	}
	return a.game(r, jsonType, "j", record.AppendJSON)
}

func appendHidden(dst []byte, b *wamble.Board) ([]byte, error) {
	hidden := *b
	hidden.Variant = -1
	return record.AppendJSON(dst, &hidden)
}

// pgn answers with a game as PGN. The reader must be allowed to see game modes, because PGN
// has them.
func (a *API) pgn(r reader) (*answer, error) {
	if err := a.admit(r.Context(), r.Who, mayMode); err != nil {
		return nil, err
	}
	return a.game(r, pgnType, "p", record.AppendPGN)
}

// png answers with a picture of a board, for link previews.
func (a *API) png(r reader) (*answer, error) {
	return a.game(r, pngType, "i", record.AppendPNG)
}

// game answers with a board, encoded by write.
func (a *API) game(r reader, kind, form string, write func([]byte, *wamble.Board) ([]byte, error)) (*answer, error) {
	id, err := strconv.ParseUint(r.PathValue("id"), 10, 64)
	if err != nil || id == 0 || id > math.MaxInt64 {
		return nil, badf("a board has a number from 1 on")
	}
	return a.ask(r, fmt.Sprintf("board %d %s", id, form), func(ctx context.Context) (*answer, error) {
		b, err := a.o.Store.Board(ctx, wamble.BoardID(id))
		if err != nil {
			return nil, err
		}
		if b.Profile != a.o.Profile {
			return nil, &problem{http.StatusNotFound, "not found"}
		}
		body, err := write(nil, &b)
		if err != nil {
			return nil, err
		}
		good := runningGood
		if b.Status == wamble.Archived {
			good = finishedGood
		}
		tag := fmt.Sprintf(`"%s%d-%d-%d"`, form, id, b.Version, len(body))
		return &answer{kind: kind, body: body, tag: tag, good: good}, nil
	})
}
