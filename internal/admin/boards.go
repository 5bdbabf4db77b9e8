package admin

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"wamble"
	"wamble/internal/profile"
)

// boardsFound bounds the boards of a search. StillFor is the time without a move after which
// a board counts as frozen.
const (
	boardsFound = 50
	idleFor     = time.Hour
)

// boardCommands has the commands about boards.
var boardCommands = []Command{{
	Name: "boards", Channels: allChannels, Patience: quick, Args: []Arg{boardQuery, inProfile},
	Help: Help{
		Short: "Find boards of the running server",
		Long: `Boards lists boards that are in memory, those that moved last first, at most 50.
QUERY is the number of a board or of the session that holds it, the name of who holds
it, or a state: active, reserved, dormant, or frozen (nobody has moved for an hour).`,
		Example: `  wamble boards
  wamble boards 17
  wamble boards frozen --profile club`,
	},
	Doc: Doc{`{"query": "frozen"}`, "boards in memory by number, holder or state, the last moved first, at most 50; " +
		"here the argument is in the query, `?query=17`"},
	Line: Line{Result: func() any { return new([]profile.FoundBoard) }, Print: printBoards, JSON: true},
	Do: func(ctx context.Context, h *Host, c *Call) (any, error) {
		a, err := h.arguments("boards", c)
		if err != nil {
			return nil, err
		}
		list, err := h.profilesOf(a.Profile)
		if err != nil {
			return nil, err
		}
		found := []profile.FoundBoard{}
		for _, p := range list {
			found = append(found, p.Boards(ctx, a.boards, boardsFound)...)
		}
		slices.SortStableFunc(found, func(a, b profile.FoundBoard) int { return b.Moved.Compare(a.Moved) })
		return found[:min(boardsFound, len(found))], nil
	},
}}

// The arguments of commands about boards and charts.
var (
	boardQuery = Arg{
		Name: "query", Kind: Text, Label: "Number, holder or state", Max: 64, Word: "[QUERY]",
		Missing: "which boards", Optional: true,
		Choice: []string{"active", "reserved", "dormant", "frozen"},
		At:     func(a *Arguments) any { return &a.Query },
		Check:  func(a *Arguments) (err error) { a.boards, err = parseBoardQuery(a.Query); return err },
	}
	chartRange = Arg{
		Name: "range", Kind: Text, Label: "hour or days", Max: 8,
		At: func(a *Arguments) any { return &a.Range },
		Check: func(a *Arguments) error {
			return unless(slices.Contains([]string{"", "hour", "days"}, a.Range), "a range is hour or days, not %q",
				a.Range)
		},
	}
)

// parseBoardQuery parses a search for boards: a number, a state, or the name of a holder.
func parseBoardQuery(text string) (q profile.BoardQuery, err error) {
	if n, err := strconv.ParseUint(text, 10, 63); err == nil {
		return profile.BoardQuery{Board: wamble.BoardID(n), Session: wamble.SessionID(n)},
			unless(n > 0, "there is no board 0")
	}
	switch strings.ToLower(text) {
	case "":
		return q, nil
	case "frozen":
		return profile.BoardQuery{Still: idleFor}, nil
	}
	if s, err := wamble.ParseBoardStatus(strings.ToUpper(text)); err == nil && s != wamble.Archived {
		return profile.BoardQuery{Statuses: []wamble.BoardStatus{s}}, nil
	}
	return profile.BoardQuery{Handle: text}, unless(len(text) <= 64, "this is no board, no holder and no state")
}

// printBoards writes a table of boards.
func printBoards(w io.Writer, result any) error {
	list := *result.(*[]profile.FoundBoard)
	if len(list) == 0 {
		_, err := fmt.Fprintln(w, "no board is like that")
		return err
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "BOARD\tPROFILE\tSTATE\tMOVES\tHOLDER\tMOVED\tFEN")
	for _, b := range list {
		holder, moved := b.Handle, "–"
		if holder == "" && b.Holder != 0 {
			holder = fmt.Sprintf("session %d", b.Holder)
		}
		if !b.Moved.IsZero() {
			moved = b.Moved.UTC().Format(time.DateTime)
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%d\t%s\t%s\t%s\n", b.Board, b.Profile, strings.ToLower(b.Status), b.Plies, holder,
			moved, b.FEN)
	}
	return t.Flush()
}
