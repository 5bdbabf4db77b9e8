package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"wamble"
	"wamble/chess"
	"wamble/client"
	"wamble/internal/guard"
	"wamble/internal/play"
	"wamble/wire"
)

// result is the result of an effect, or a message that the server sent by itself.
type result struct {
	of  play.Effect // nil for a message of the server
	msg play.Msg
}

// connection carries out the effects of a player's game: it sends requests to the server, and
// stores the player's files. The user interface starts effects and passes their results to
// the game.
type connection struct {
	ctx     context.Context
	stop    context.CancelFunc
	conn    *client.Client
	keeper  *keeper
	address string
	pages   []string // addresses of the server's HTTP routes
	web     *http.Client
	game    *play.Game
	results chan result

	loggedIn bool // the session belongs to the identity; used only by the user interface
}

// askPatience bounds each request except a move, which has no time limit.
const askPatience = 15 * time.Second

// parting bounds the goodbye to the server.
const parting = 2 * time.Second

func newConnection(ctx context.Context, conn *client.Client, keeper *keeper, at endpoint) *connection {
	way := http.DefaultTransport.(*http.Transport).Clone()
	way.TLSClientConfig = at.tls()
	s := &connection{conn: conn, keeper: keeper, address: at.address, pages: at.pages,
		web: &http.Client{Transport: way}, results: make(chan result, 64)}
	s.ctx, s.stop = context.WithCancel(ctx)
	s.loggedIn = keeper.file.LoggedIn
	s.run("what the server tells", s.listen)
	return s
}

// first returns the effects at the start of the game.
func (s *connection) first() []play.Effect {
	before := s.keeper.file.token()
	given := s.present(before)
	if s.loggedIn {
		given.Renewed = false
	}
	effects := s.game.Take(time.Now(), play.Greeted{Assignment: given})
	if s.game.Only {
		effects = append(effects, play.Watch{})
	}
	return append(effects, play.AskStats{})
}

// present returns what the player has as the server reported it last. Before is the player's
// previous token.
func (s *connection) present(before wamble.Token) play.Assignment {
	session := s.conn.Session()
	given := play.Assignment{Caps: session.Caps, Place: int(session.Board.WaitPlace),
		Renewed: !before.IsZero() && before != session.Token}
	if session.Board.ID != 0 && given.Place == 0 {
		given.Board = boardOf(session.Board)
	}
	return given
}

// boardOf converts a board; nil if it is invalid.
func boardOf(b client.Board) *play.Board {
	board, err := play.ReadBoard(b.ID, b.FEN, b.Chess960)
	if err != nil {
		return nil
	}
	board.Own, board.Bot = b.OwnMove, b.Bot
	if b.LastMove != nil {
		board.From, board.To = chess.Square(b.LastMove.From), chess.Square(b.LastMove.To)
	}
	return board
}

// leave releases the board, unless a move is being sent, and closes the connection.
func (s *connection) leave() {
	s.stop()
	ctx, cancel := context.WithTimeout(context.Background(), parting)
	defer cancel()
	if s.game != nil && s.game.Sending == nil && !s.game.Offline {
		s.conn.Leave(ctx)
	}
	s.conn.Close()
	s.keeper.close()
}

// start starts an effect, and reports whether a result will follow. Effects on files are
// carried out at once.
func (s *connection) start(e play.Effect) (bool, error) {
	switch e := e.(type) {
	case play.Keep:
		s.keeper.file = keptFile{Token: s.conn.Token().String(), LoggedIn: s.loggedIn, Saved: s.game.Saved()}
		return false, s.keeper.keep()
	case play.KeepIdentity:
		s.loggedIn = e.Identity != nil
		return false, s.keeper.keepIdentity(e.Identity)
	case play.Alive:
		s.run("a sign of life", func() { s.conn.Thinking(s.ctx) })
		return false, nil
	}
	s.run("a request of the player", func() { s.post(result{e, s.do(e)}) })
	return true, nil
}

// run runs f on a goroutine of its own. A panic ends the game.
func (s *connection) run(what string, f func()) {
	go func() {
		guard.Run(what, f, func(err error) { s.post(result{nil, play.Ended{Why: err.Error()}}) })
	}()
}

// post delivers a result, unless the player has left.
func (s *connection) post(r result) {
	select {
	case s.results <- r:
	case <-s.ctx.Done():
	}
}

// do carries out an effect, and returns its answer.
func (s *connection) do(e play.Effect) play.Msg {
	if move, ok := e.(play.Move); ok {
		return s.move(move)
	}
	ctx, cancel := context.WithTimeout(s.ctx, askPatience)
	defer cancel()
	msg, err := s.ask(ctx, e)
	if err != nil {
		return play.Refused{What: e, Why: reason(err)}
	}
	return msg
}

// reason returns why something failed, in the server's words if it refused.
func reason(err error) string {
	if d, ok := errors.AsType[*wamble.Denied](err); ok {
		return d.Reason
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "the server does not answer"
	}
	return err.Error()
}

// madeAnyway is the beginning of a refusal after which the move was made, and only a next
// board is missing.
const madeAnyway = "the move was made"

func (s *connection) move(m play.Move) play.Msg {
	before := s.conn.Token()
	_, err := s.conn.PlayOn(s.ctx, m.Board, m.UCI)
	if err == nil {
		return play.Moved{Assignment: s.present(before)}
	}
	why := reason(err)
	return play.Refused{What: m, Why: why, Made: strings.HasPrefix(why, madeAnyway),
		Unsure: errors.Is(err, client.ErrUncertain)}
}

// ask carries out an effect other than a move.
func (s *connection) ask(ctx context.Context, e play.Effect) (play.Msg, error) {
	before := s.conn.Token()
	switch e := e.(type) {
	case play.Hello:
		select {
		case <-time.After(e.After):
		case <-ctx.Done():
		}
		_, err := s.conn.Hello(ctx)
		return play.Greeted{Assignment: s.present(before)}, err
	case play.Predict:
		got, err := s.conn.Predict(ctx, e.Board, e.UCI, 0)
		return play.Predicted{Predict: e, Status: wire.SubmitStatus(got.Status)}, err
	case play.AskPredictions:
		rows, err := s.conn.Predictions(ctx, e.Board, 1, 0)
		return play.Predictions{Board: e.Board, Rows: countPredictions(rows, before), Tell: e.Tell}, err
	case play.AskStats:
		got, err := s.conn.Stats(ctx, client.StatsOf{})
		return statsMsg(got, e.Tell, false), err
	case play.SetName:
		got, err := s.conn.SetName(ctx, e.Name)
		return statsMsg(got, false, true), err
	case play.AskRanking:
		return s.ranking(ctx)
	case play.NewIdentity:
		var made play.Mnemonic
		_, err := rand.Read(made.Entropy[:])
		return play.MadeIdentity{Identity: made}, err
	case play.Login:
		_, err := s.conn.Login(ctx, e.Identity.Key())
		return play.LoggedIn{Assignment: s.present(wamble.Token{}), Identity: e.Identity}, err
	case play.Logout:
		_, err := s.conn.Logout(ctx)
		return play.Greeted{Assignment: s.present(wamble.Token{})}, err
	case play.AskTerms:
		text, err := s.conn.Terms(ctx, "")
		return play.Terms{Text: text}, err
	case play.AcceptTerms:
		_, err := s.conn.AcceptTerms(ctx, "")
		return play.Terms{Accepted: true}, err
	case play.Watch:
		return s.spectate(ctx, e)
	case play.StopWatching:
		if w := s.conn.Watching(); w != nil {
			return play.WatchEnded{}, w.Stop(ctx)
		}
		return play.WatchEnded{}, nil
	case play.Look:
		return s.look(ctx, e), nil
	}
	return nil, fmt.Errorf("nobody does %T", e)
}

func statsMsg(s client.Stats, tell, named bool) play.Stats {
	return play.Stats{Score: s.Score, Games: s.Games, Handle: s.Handle, Identity: s.HasIdentity, Tell: tell,
		Named: named}
}

// countPredictions counts the open predictions of each move.
func countPredictions(rows []client.Prediction, own wamble.Token) []play.Prediction {
	var list []play.Prediction
	for _, r := range rows {
		if r.Status != client.PredictionPending || r.Parent != 0 {
			continue
		}
		i := slices.IndexFunc(list, func(p play.Prediction) bool { return p.UCI == r.UCI })
		if i < 0 {
			i = len(list)
			list = append(list, play.Prediction{UCI: r.UCI})
		}
		list[i].Count++
		list[i].Own = list[i].Own || r.Author == own
	}
	slices.SortStableFunc(list, func(a, b play.Prediction) int { return b.Count - a.Count })
	return list
}

func (s *connection) ranking(ctx context.Context) (play.Msg, error) {
	people, err := s.ranks(ctx, false)
	if err != nil {
		return nil, err
	}
	programs, err := s.ranks(ctx, true)
	if err != nil {
		return nil, err
	}
	return play.Ranking{Rows: people, Bots: programs}, nil
}

func (s *connection) ranks(ctx context.Context, bots bool) (rows []play.Rank, err error) {
	page, err := s.conn.Leaderboard(ctx, client.LeaderboardPage{Bots: bots})
	if err != nil {
		return nil, err
	}
	add := func(r client.Rank) {
		name := r.Handle
		if name == "" {
			name = fmt.Sprintf("guest %d", r.Session)
		}
		rows = append(rows, play.Rank{Rank: r.Rank, Name: name, Score: r.Score, Rating: r.Rating,
			Own: r.Rank == page.SelfRank})
	}
	for _, r := range page.Rows {
		add(r)
	}
	if page.Self != nil {
		add(*page.Self)
	}
	return rows, nil
}

// spectate starts to watch, and delivers updates until it ends or something else is watched.
func (s *connection) spectate(ctx context.Context, e play.Watch) (play.Msg, error) {
	w, err := s.conn.Spectate(ctx, client.View{Board: e.Board})
	if err != nil {
		return nil, err
	}
	s.run("what is watched", func() {
		for {
			u, err := w.Next(s.ctx)
			switch {
			case err != nil && s.conn.Watching() != nil:
				return // something else is watched
			case err != nil:
				s.post(result{nil, play.WatchEnded{}})
				return
			case u.Reset:
				s.post(result{nil, play.Seen{Reset: true}})
			case u.Gone:
				s.post(result{nil, play.Seen{Gone: u.Board.ID}})
			default:
				s.post(result{nil, play.Seen{Board: boardOf(u.Board)}})
			}
		}
	})
	return play.Watching(e), nil
}

// maxPage bounds an HTTP answer of the server, in bytes.
const maxPage = 1 << 20

// look reads the games of boards over HTTP. After an error the rest is left out.
func (s *connection) look(ctx context.Context, e play.Look) play.Msg {
	found := play.Looked{Tell: e.Tell}
	for _, id := range e.Boards {
		r, err := s.page(ctx, id)
		if err != nil {
			break // HTTP is off, or the server is busy
		}
		found.Records = append(found.Records, *r)
	}
	return found
}

func (s *connection) page(ctx context.Context, id wamble.BoardID) (r *play.Record, err error) {
	err = errors.New("the server has no pages")
	for _, at := range s.pages {
		if r, err = s.pageAt(ctx, at, id); err == nil {
			break
		}
	}
	return r, err
}

func (s *connection) pageAt(ctx context.Context, at string, id wamble.BoardID) (*play.Record, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/api/boards/%d", at, id), nil)
	if err != nil {
		return nil, err
	}
	answer, err := s.web.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, errors.New(answer.Status)
	}
	var game struct {
		Chess960 *int
		Moves    []struct{ UCI string }
		Result   struct{ Winner string }
	}
	if err := json.NewDecoder(io.LimitReader(answer.Body, maxPage)).Decode(&game); err != nil {
		return nil, err
	}
	r := &play.Record{Board: id, Chess960: -1, Winner: game.Result.Winner}
	if game.Chess960 != nil {
		r.Chess960 = *game.Chess960
	}
	for _, m := range game.Moves {
		r.Moves = append(r.Moves, m.UCI)
	}
	return r, nil
}

// listen delivers the events that the server sends by itself.
func (s *connection) listen() {
	token := s.conn.Token()
	for {
		e, err := s.conn.Event(s.ctx)
		switch {
		case s.ctx.Err() != nil:
			return
		case err != nil:
			s.post(result{nil, play.Ended{Why: reason(err)}})
			return
		}
		switch e.Kind {
		case client.BoardChanged:
			s.post(result{nil, play.Given{Assignment: s.present(wamble.Token{})}})
		case client.Notice:
			n := play.Notice{Type: e.Notice, Board: e.Board.ID, Text: e.Text}
			if e.Stays != nil {
				n.ID, n.For, n.Countdown = e.Stays.ID, e.Stays.For, e.Stays.Countdown
			}
			s.post(result{nil, n})
		case client.Refused:
			s.post(result{nil, play.Refused{What: play.Hello{}, Why: reason(e.Err)}})
		case client.Disconnected:
			token = s.conn.Token()
			s.post(result{nil, play.Away{}})
		case client.Resumed:
			s.post(result{nil, play.Back{Assignment: s.present(token)}})
		}
	}
}
