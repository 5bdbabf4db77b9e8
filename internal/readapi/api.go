package readapi

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"wamble"

	"wamble/internal/guard"
)

// ErrStarting is returned by functions of Options before the profile runs.
var ErrStarting = errors.New("the profile is starting")

// ErrNotInMemory is returned by Options.Admit if it needs the reader's session as the store has it.
var ErrNotInMemory = errors.New("the session is not in memory")

// Store has the queries that the routes make to the database.
type Store interface {
	Session(ctx context.Context, t wamble.Token) (wamble.Session, error)
	SessionByHandle(ctx context.Context, handle string) (wamble.Session, error)
	Player(ctx context.Context, key wamble.PublicKey) (wamble.Player, error)
	Board(ctx context.Context, id wamble.BoardID) (wamble.Board, error)
	Past(ctx context.Context, q wamble.PastQuery) (wamble.Past, error)
	Began(ctx context.Context, profile string) (time.Time, error)
	Scores(ctx context.Context, q wamble.ScoreQuery) ([]wamble.Score, error)
	Trail(ctx context.Context, id wamble.SessionID) (wamble.Trail, error)
	Leaderboard(ctx context.Context, q wamble.LeaderboardQuery) (wamble.Leaderboard, error)
}

// Right is something that the policy can allow or deny.
type Right struct {
	Action, Resource string
	Key, Value       string // context; there is none if Key is ""
}

// Who identifies a reader to the policy.
type Who struct {
	Token wamble.Token // of the reader's session; zero for a guest
	From  netip.Addr
	// Stored is the session in the store; without an ID there is none that is valid for the reader, nil if the
	// store was not asked.
	Stored *wamble.Session
	// About is the player whose stats are requested; nil for other requests.
	About *wamble.Player
}

// Options are the parameters of an API.
type Options struct {
	Profile string
	Store   Store
	// Admit returns nil if the reader has all these rights, otherwise a *wamble.Denied.
	// Errors: ErrStarting, ErrNotInMemory if Who.Stored is nil.
	Admit func(ctx context.Context, who Who, rights []Right) error
	// Counts returns the current counts. Errors: ErrStarting.
	Counts func(ctx context.Context) (Counts, error)
	Feed   Feed
	// Events is the stream of events.
	Events *Stream
	// Handles returns the handles of sessions, in their order; "" for guests. Errors:
	// ErrStarting.
	Handles func(ctx context.Context, ids []wamble.SessionID) ([]string, error)
	// Panicked is called with a panic, which is answered with 500; it may be nil.
	Panicked func(error)
	// Now is the clock.
	Now func() time.Time
}

// API is the http.Handler of one profile. It is safe for concurrent use.
type API struct {
	o        Options
	mux      *http.ServeMux
	limiter  *Limiter
	cache    *cache
	moveRate moveRate
	permits  permits
	waits    chan struct{} // semaphore of requests that wait for the feed

	documents documents
	observers observers
	names     names
}

const (
	askTime = 5 * time.Second // longest query to the store
	maxAsks = 2               // concurrent queries; with their pauses the time of half a connection
	// maxHeavyAsks are the queries of heavy routes beside those.
	maxHeavyAsks = 1
	maxWaits     = 64 // requests that wait for the feed
	perSecond    = 20 // requests of one host
)

// New returns the routes of a profile, to be mounted at /api/.
func New(o Options) *API {
	a := &API{
		o: o, mux: http.NewServeMux(), limiter: NewLimiter(o.Now, perSecond),
		cache: newCache(o.Now, maxAsks, maxHeavyAsks),
		waits: make(chan struct{}, maxWaits), documents: newDocuments(),
	}
	for i := range routes {
		a.mount(&routes[i])
	}
	a.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { errPath.write(w) })
	return a
}

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// reader is a request with its route and its sender.
type reader struct {
	*http.Request
	Who
	row *route
}

// mount adds the handler of a row.
func (a *API) mount(row *route) {
	a.mux.HandleFunc(row.path, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodOptions && a.polite(r) {
			preflight(w)
			return
		}
		got, err := a.answer(row, w, r)
		var crash *guard.Panic
		if errors.As(err, &crash) && a.o.Panicked != nil {
			a.o.Panicked(err)
		}
		if err != nil {
			problemOf(err).write(w)
			return
		}
		if got != nil {
			got.write(w, r)
		}
	})
}

// answer checks rate, method, token and rights, and then calls the handler. For a stream it
// returns nil after the stream has ended.
func (a *API) answer(row *route, w http.ResponseWriter, r *http.Request) (*answer, error) {
	switch {
	case !a.polite(r):
		return nil, errOften
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return nil, errMethod
	}
	from, _ := netip.ParseAddrPort(r.RemoteAddr) // polite has checked it
	who := reader{Request: r, row: row, Who: Who{From: from.Addr().Unmap()}}
	if err := who.introduce(); err != nil {
		return nil, err
	}
	if err := a.admit(r.Context(), who.Who, row.rights); err != nil {
		return nil, err
	}
	if row.stream != nil {
		return nil, row.stream(a, w, who)
	}
	return row.handle(a, who)
}

// ask returns the answer of a key from the cache, or of a query to the store that waits for its reader's turn.
func (a *API) ask(r reader, key string, query func(ctx context.Context) (*answer, error)) (*answer, error) {
	turns := a.cache.asks
	if r.row != nil && r.row.heavy { // nil: a stream asks for its own
		turns = a.cache.heavy
	}
	return a.cache.get(turns, wamble.HostOf(r.From), key, query)
}

// polite counts a request, and reports whether its host is within the rate limit.
func (a *API) polite(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && a.limiter.admit(from.Addr())
}

// introduce parses the token, if there is one.
func (r *reader) introduce() error {
	text := r.Header.Get("Authorization")
	if text == "" {
		return nil
	}
	scheme, token, _ := strings.Cut(text, " ")
	b, err := hex.DecodeString(token)
	if err == nil && len(b) == len(r.Token) {
		copy(r.Token[:], b)
	} else {
		r.Token, err = wamble.ParseToken(token)
	}
	if err != nil || !strings.EqualFold(scheme, "Bearer") {
		return badf("Authorization is Bearer and a token: 32 hexadecimal digits, or the 22 characters that players see")
	}
	return nil
}
