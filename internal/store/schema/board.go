package schema

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"

	"wamble"
	"wamble/internal/store"
)

const selectBoard = `SELECT b.id, b.profile, b.fen, b.status, coalesce(b.variant, -1), b.version, b.created_at, b.last_assignment_time,
	r.session_id, r.reserved_for_white, r.started_at, r.expires_at, p.public_key,
	g.winning_side, g.move_count, g.duration_us, g.termination_reason, g.finished_at
	FROM boards b LEFT JOIN reservations r ON r.board_id = b.id LEFT JOIN sessions s ON s.id = r.session_id LEFT JOIN players p ON p.id = s.player_id
	LEFT JOIN game_results g ON g.board_id = b.id `

// selectRuns reads the runs of moves of the boards of a page.
const selectRuns = `SELECT r.board_id, r.first_ply, r.ended_at, r.moves FROM (SELECT b.id FROM boards b LEFT JOIN game_results g ON g.board_id = b.id %s) page
	JOIN move_runs r ON r.board_id = page.id ORDER BY r.board_id, r.first_ply`

// LiveBoards implements store.Queries. It finds the boards by the index on status.
func (q *Queries) LiveBoards(ctx context.Context, profile string, shard int) iter.Seq2[wamble.Board, error] {
	list := func() ([]int64, error) {
		return readAll(ctx, q, "read boards", Ask{Text: `SELECT b.id FROM boards b
			WHERE b.profile = $1 AND b.shard = $2 AND b.status IN ('ACTIVE', 'RESERVED', 'DORMANT') ORDER BY b.created_at, b.id`,
			Args: []any{profile, shard}}, scanValue[int64])
	}
	where := `WHERE ` + q.Dialect.in("b.id", "$1") + ` AND b.status <> 'ARCHIVED' ORDER BY b.created_at, b.id`
	runs := `SELECT r.board_id, r.first_ply, r.ended_at, r.moves FROM move_runs r WHERE ` + q.Dialect.in("r.board_id", "$1") +
		` ORDER BY r.board_id, r.first_ply`
	return listed(list, func(ids []int64) ([]wamble.Board, error) {
		return q.boardPage(ctx, q.Dialect.byIndex(), runs, where, listOf(q.Dialect, ids))
	})
}

// Arrivals implements store.Queries.
func (q *Queries) Arrivals(ctx context.Context, profile string, shard, most int) ([]wamble.Board, error) {
	return q.boards(ctx, `WHERE b.id IN (SELECT board_id FROM arrivals WHERE profile = $1 AND shard = $2 ORDER BY board_id LIMIT $3) ORDER BY b.id`, profile, shard, most)
}

// Board implements store.Queries.
func (q *Queries) Board(ctx context.Context, id wamble.BoardID) (wamble.Board, error) {
	boards, err := q.boards(ctx, `WHERE b.id = $1`, int64(id))
	if err == nil && len(boards) == 0 {
		err = fmt.Errorf("read board: %w", store.ErrNotFound)
	}
	if err != nil {
		return wamble.Board{}, err
	}
	return boards[0], nil
}

// Games implements store.Queries.
func (q *Queries) Games(ctx context.Context, f wamble.GameFilter) iter.Seq2[wamble.Board, error] {
	return pages(func(last *wamble.Board) ([]wamble.Board, error) {
		after := f.After
		if last != nil {
			after = last.ID
		}
		return q.boards(ctx, `WHERE b.id > $1 AND (CAST($2 AS text) = '' OR b.profile = CAST($2 AS text)) AND (NOT CAST($3 AS boolean) OR b.status = 'ARCHIVED')
			AND (CAST($4 AS timestamptz) IS NULL OR g.finished_at >= $4 OR EXISTS (SELECT 1 FROM move_runs r WHERE r.board_id = b.id AND r.ended_at >= $4))
			ORDER BY b.id LIMIT $5`, int64(after), f.Profile, f.Finished, q.Dialect.timeOrNull(f.Since), pageSize)
	})
}

func (q *Queries) boards(ctx context.Context, where string, args ...any) ([]wamble.Board, error) {
	return q.boardPage(ctx, nil, fmt.Sprintf(selectRuns, where), where, args...)
}

// boardPage reads boards and their moves in one snapshot, after the statements before, and then the
// players of the moves. Runs may include moves of further boards.
func (q *Queries) boardPage(ctx context.Context, before []Ask, runs, where string, args ...any) ([]wamble.Board, error) {
	var page boardPage
	err := q.Read(ctx, "read boards", append(before, Ask{Text: selectBoard + where, Args: args, Row: page.scanBoard},
		Ask{Text: runs, Args: args, Row: page.scanRun})...)
	if err == nil && len(page.movers) > 0 {
		err = q.Read(ctx, "read boards", Ask{Text: `SELECT s.id, coalesce(p.id, 0), coalesce(p.handle, ''), CAST(coalesce(p.rating, 0) AS float8), s.bot
			FROM ` + q.Dialect.numbers("$1") + ` JOIN sessions s ON s.id = n.value LEFT JOIN players p ON p.id = s.player_id`,
			Args: []any{listOf(q.Dialect, slices.Collect(maps.Keys(page.movers)))}, Row: page.scanMover})
		page.nameMovers()
	}
	if err != nil {
		return nil, err
	}
	return page.boards, nil
}

// boardPage collects boards that are read with their moves: first the boards, then the runs of
// their moves in the order of plies, then the players of the moves. Decoding runs here is
// several times faster than reading the view moves.
type boardPage struct {
	boards []wamble.Board
	at     map[wamble.BoardID]int // index in boards
	movers map[wamble.SessionID]mover
}

// mover is the player of a session, if it has one, and whether a bot plays it.
type mover struct {
	player wamble.PlayerID
	handle string
	rating float64
	bot    bool
}

func (p *boardPage) scanBoard(scan Scan) error {
	b, err := scanBoard(scan)
	if p.at == nil {
		p.at, p.movers = map[wamble.BoardID]int{}, map[wamble.SessionID]mover{}
	}
	p.at[b.ID] = len(p.boards)
	p.boards = append(p.boards, b)
	return err
}

// scanRun reads a run of moves. It skips the run of a board that is not in the page, because
// its game has ended meanwhile.
func (p *boardPage) scanRun(scan Scan) error {
	board, moves, err := scanRun(scan)
	if err != nil {
		return err
	}
	i, known := p.at[board]
	if !known {
		return nil
	}
	b := &p.boards[i]
	b.Moves = append(b.Moves, moves...)
	for i := range moves {
		p.movers[moves[i].Session] = mover{}
	}
	return nil
}

// scanMover reads a session: its number, the number, handle and rating of its player, and
// whether it is a bot.
func (p *boardPage) scanMover(scan Scan) error {
	var id wamble.SessionID
	var m mover
	err := scan(&id, &m.player, &m.handle, &m.rating, &m.bot)
	p.movers[id] = m
	return err
}

// nameMovers writes the players into the moves.
func (p *boardPage) nameMovers() {
	for i := range p.boards {
		for j := range p.boards[i].Moves {
			m := &p.boards[i].Moves[j]
			who := p.movers[m.Session]
			m.Player, m.Handle, m.Rating, m.Bot = who.player, who.handle, who.rating, who.bot
		}
	}
}
