package readapi

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wamble/internal/store"

	"wamble"
)

var noon = time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)

// rig is an API over a store, a feed and a policy in memory.
type rig struct {
	*API
	t *testing.T

	mu      sync.Mutex
	now     time.Time
	calls   map[string]int // of the store, by method
	err     error          // of the store
	denied  string         // action that the policy denies, or value of a context
	away    bool           // no session is in memory
	admits  int            // how often the policy was asked
	who     Who            // the last reader
	host    string         // that the token is bound to
	counts  Counts
	games   []Ended
	dropped uint64
	changed chan struct{}
	looked  chan string   // every call of the store, as long as the channel has space
	block   chan struct{} // the store answers when it is closed
	stream  Stream
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, now: noon, calls: map[string]int{}, changed: make(chan struct{}), looked: make(chan string, 64)}
	r.API = New(Options{Profile: "blitz", Store: r, Admit: r.admits1, Counts: r.count, Feed: r, Now: r.clock,
		Events: &r.stream, Handles: r.handles})
	return r
}

// handles: session 11 is h_ada's, all others are guests'.
func (r *rig) handles(_ context.Context, ids []wamble.SessionID) ([]string, error) {
	list := make([]string, len(ids))
	for i, id := range ids {
		if id == 11 {
			list[i] = ada.Handle
		}
	}
	return list, r.called("Handles")
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rig) later(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now = r.now.Add(d)
}

func (r *rig) admits1(_ context.Context, who Who, rights []Right) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.admits++
	r.who = who
	if r.away && who.Stored == nil && !who.Token.IsZero() {
		return ErrNotInMemory
	}
	if slices.ContainsFunc(rights,
		func(x Right) bool { return x.Action == r.denied || x.Value != "" && x.Value == r.denied }) {
		return &wamble.Denied{Code: wamble.AccessDenied}
	}
	return nil
}

func (r *rig) count(context.Context) (Counts, error) { return r.counts, r.called("Counts") }

func (r *rig) called(method string) error {
	r.mu.Lock()
	r.calls[method]++
	err, block := r.err, r.block
	r.mu.Unlock()
	select {
	case r.looked <- method:
	default:
	}
	if block != nil {
		<-block
	}
	return err
}

func (r *rig) called1(method string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[method]
}

var ada = wamble.Player{
	ID: 7, Key: wamble.PublicKey{7}, Handle: "h_ada", Created: noon,
	Stats: wamble.Stats{Score: 73.3333, PredictionScore: 4, Rating: 1216.5, Games: 81, Chess960Games: 3},
}

func (r *rig) Session(_ context.Context, t wamble.Token) (wamble.Session, error) {
	if err := r.called("Session"); err != nil || t[0] != 1 {
		return wamble.Session{}, orNotFound(err)
	}
	return wamble.Session{ID: 40, Token: t.Hash(), Host: r.host}, nil
}

func orNotFound(err error) error {
	if err == nil {
		return fmt.Errorf("read: %w", store.ErrNotFound)
	}
	return err
}

func (r *rig) SessionByHandle(_ context.Context, handle string) (wamble.Session, error) {
	if err := r.called("SessionByHandle"); err != nil || handle != ada.Handle {
		return wamble.Session{}, orNotFound(err)
	}
	return wamble.Session{ID: 11, Key: ada.Key, Handle: ada.Handle}, nil
}

func (r *rig) Player(_ context.Context, key wamble.PublicKey) (wamble.Player, error) {
	if key != ada.Key {
		return wamble.Player{}, orNotFound(nil)
	}
	return ada, r.called("Player")
}

func (r *rig) Board(_ context.Context, id wamble.BoardID) (wamble.Board, error) {
	if err := r.called("Board"); err != nil || id > 19 {
		return wamble.Board{}, orNotFound(err)
	}
	b := wamble.Board{ID: id, Profile: "blitz", Status: wamble.Active, Variant: -1, Version: 9, Created: noon,
		FEN:   "rnbqkbnr/pppppppp/8/8/8/5P2/PPPPP1PP/RNBQKBNR b KQkq - 0 1",
		Moves: []wamble.Move{{Ply: 1, UCI: "f2f3", Session: 11, Handle: "h_ada", Rating: 1216.5, At: noon}}}
	switch id {
	case 16:
		b.Variant = 518
	case 18:
		b.Status = wamble.Archived
		b.Result = &wamble.GameResult{Result: wamble.Draw, Plies: 1, Duration: 3 * time.Second, Reason: "move limit",
			Finished: noon}
	case 19:
		b.Profile = "other"
	}
	return b, nil
}

// Past is board 18, which was made a second later, and board 17, which ended two seconds
// after noon.
func (r *rig) Past(_ context.Context, q wamble.PastQuery) (wamble.Past, error) {
	if err := r.called("Past"); err != nil {
		return wamble.Past{}, err
	}
	if q.Profile != "blitz" || q.Limit != 128 || q.Until != q.From.Add(pastEnds+time.Minute) {
		return wamble.Past{}, fmt.Errorf("got %+v", q)
	}
	if q.Board > 0 {
		return wamble.Past{Boards: []wamble.Board{{ID: 16, Variant: -1, Created: noon,
			Moves: []wamble.Move{{Ply: 1, UCI: "e2e5", At: noon}}}}}, nil
	}
	moves := []wamble.Move{{Ply: 1, UCI: "f2f3"}, {Ply: 2, UCI: "e7e5"}, {Ply: 3, UCI: "g2g4"}, {Ply: 4, UCI: "d8h4"}}
	for i := range moves {
		moves[i].At = noon.Add(time.Duration(i-1) * time.Second)
	}
	end := &wamble.GameResult{Result: wamble.BlackWins, Plies: 4, Reason: "checkmate",
		Finished: noon.Add(2 * time.Second)}
	return wamble.Past{Next: 16, Boards: []wamble.Board{
		{ID: 18, Variant: -1, Created: noon.Add(1500 * time.Millisecond), Moves: []wamble.Move{{Ply: 1, UCI: "e2e4", At: noon.Add(4 * time.Second)}, {Ply: 2, UCI: "e7e5", At: noon.Add(time.Hour)}}},
		{ID: 17, Variant: -1, Created: noon.Add(-time.Hour), Moves: moves, Result: end},
		{ID: 15, Variant: -1, Created: noon.Add(-time.Hour), Result: &wamble.GameResult{Result: wamble.Draw, Reason: "archived", Finished: noon.Add(-2 * time.Second)}},
	}}, nil
}

func (r *rig) Began(context.Context, string) (time.Time, error) {
	return noon.Add(-time.Hour), r.called("Began")
}

func (r *rig) Scores(_ context.Context, q wamble.ScoreQuery) ([]wamble.Score, error) {
	if err := r.called("Scores"); err != nil {
		return nil, err
	}
	all := []wamble.Score{{Board: 18, Points: 6.5, Rating: 0.8, At: noon}, {Board: 17, Rating: -1, At: noon},
		{Board: 5, Points: 1, At: noon.Add(-time.Hour)}}
	var page []wamble.Score
	for _, s := range all {
		if q.Before.IsZero() || s.At.Before(q.Before) || s.At.Equal(q.Before) && s.Board < q.Board {
			page = append(page, s)
		}
	}
	return page[:min(len(page), q.Limit)], nil
}

func (r *rig) Trail(ctx context.Context, id wamble.SessionID) (wamble.Trail, error) {
	if err := r.called("Trail"); err != nil || id != 40 {
		return wamble.Trail{}, err
	}
	t := wamble.Trail{Sessions: []wamble.SessionID{11, 40}, Seen: noon, Paid: []wamble.Score{{Board: 18, Points: 3.2}}}
	for _, id := range []wamble.BoardID{18, 19} {
		b, err := r.Board(ctx, id)
		if err != nil {
			return t, err
		}
		t.Boards = append(t.Boards, b)
	}
	return t, nil
}

func (r *rig) Leaderboard(_ context.Context, q wamble.LeaderboardQuery) (wamble.Leaderboard, error) {
	row := wamble.LeaderboardRow{Rank: q.Offset + 1, Session: 11, Handle: "h_ada", Stats: ada.Stats}
	page := wamble.Leaderboard{Total: 340, Rows: []wamble.LeaderboardRow{row}}
	if q.Self != 0 {
		page.Self = &wamble.LeaderboardRow{Rank: 12, Session: q.Self, Stats: wamble.Stats{Score: 3}}
	}
	return page, r.called("Leaderboard")
}

func (r *rig) Parts() int { return 1 }

func (r *rig) Name() (string, error) { return "5f2a91c0", nil }

func (r *rig) End(context.Context) (Positions, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Positions{r.dropped + uint64(len(r.games))}, nil
}

func (r *rig) Read(_ context.Context, from Positions, limit int) ([]Ended, Positions, bool, error) {
	if err := r.called("Feed"); err != nil {
		return nil, from, false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	after := from[0]
	if after > 0 && after < r.dropped || after > r.dropped+uint64(len(r.games)) {
		return nil, from, true, nil
	}
	games := r.games[max(after, r.dropped)-r.dropped:]
	games = games[:min(len(games), limit)]
	return games, Positions{max(after, r.dropped) + uint64(len(games))}, false, nil
}

func (r *rig) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// end lets a game end.
func (r *rig) end(board wamble.BoardID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seq := r.dropped + uint64(len(r.games)) + 1
	r.games = append(r.games, Ended{0, seq, board, "black", "checkmate", 4, 3, noon})
	close(r.changed)
	r.changed = make(chan struct{})
}

// request makes a request from an address on the net.
func request(path string, headers ...string) *http.Request {
	q := httptest.NewRequest(http.MethodGet, path, nil)
	q.RemoteAddr = "192.0.2.1:4000"
	for i := 0; i+1 < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	return q
}

// get sends a request, and returns status and body.
func (r *rig) get(path string, headers ...string) string {
	r.t.Helper()
	return r.ask(request(path, headers...))
}

func (r *rig) ask(q *http.Request) string {
	r.t.Helper()
	w := r.serve(q)
	body, err := io.ReadAll(w.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", w.StatusCode, strings.TrimSpace(string(body)))
}

func (r *rig) serve(q *http.Request) *http.Response {
	w := httptest.NewRecorder()
	r.ServeHTTP(w, q)
	return w.Result()
}
