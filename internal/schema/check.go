package schema

import (
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"wamble"
)

// Limits of the columns, in characters unless said otherwise.
const (
	MaxFEN     = 90
	MaxUCI     = 6
	MaxReason  = 31
	MaxProfile = 128
	MaxHandle  = 63
	MaxTerms   = 1 << 20 // bytes
	MaxVariant = 959
	// maxDecimal bounds DECIMAL(10,4): six digits before the point.
	maxDecimal = 1e6
)

// A Violation is an intent that no store will ever take.
type Violation struct {
	Kind   wamble.Kind
	Reason string
}

func (e *Violation) Error() string { return fmt.Sprintf("%v: %s", e.Kind, e.Reason) }

// CheckBatch checks the frame of a batch, not its intents.
func CheckBatch(b wamble.Batch) error {
	c := &checker{}
	c.text("profile", b.Profile, 1, MaxProfile)
	c.that(b.After < b.Through && b.Through <= math.MaxInt64, "the cursor cannot step from %d to %d", b.After, b.Through)
	if c.reason != "" {
		return fmt.Errorf("batch: %s", c.reason)
	}
	return nil
}

// Check reports what is wrong with an intent before a database sees it, in the
// same words for every store. Errors: *Violation.
func Check(in wamble.Intent) error {
	c := &checker{}
	switch in := in.(type) {
	case *wamble.CreateSession:
		c.session(in.Session)
		c.that(!in.Token.IsZero(), "the token is zero")
		c.that(in.Player >= 0, "player %d", in.Player)
		c.at(in.At)
	case *wamble.LinkSession:
		c.session(in.Session)
		c.key(in.Key)
		c.that(in.Player > 0, "player %d", in.Player)
		c.handle(in.Handle)
		c.decimal("rating", in.Rating)
		c.at(in.At)
	case *wamble.UnlinkSession:
		c.session(in.Session)
		c.at(in.At)
	case *wamble.RecordTermsAcceptance:
		c.session(in.Session)
		c.text("profile", in.Profile, 1, MaxProfile)
		c.that(len(in.Text) <= MaxTerms, "the terms have %d bytes, at most %d are kept", len(in.Text), MaxTerms)
		c.text("terms", in.Text, 0, MaxTerms)
		c.at(in.At)
	case *wamble.UpdateSessionLastSeen:
		c.session(in.Session)
		c.at(in.At)
	case *wamble.ErasePlayer:
		c.key(in.Key)
		c.at(in.At)
	case *wamble.PurgeSessions:
		c.at(in.At)
		c.at(in.Before)
	default:
		c.game(in)
	}
	if c.reason != "" {
		return &Violation{Kind: in.Kind(), Reason: c.reason}
	}
	return nil
}

// game checks the intents that name a board.
func (c *checker) game(in wamble.Intent) {
	switch in := in.(type) {
	case *wamble.CreateBoard:
		c.board(in.Board, in.At)
		c.position(in.FEN, in.Status)
		c.that(in.Variant >= -1 && in.Variant <= MaxVariant, "variant %d", in.Variant)
	case *wamble.UpdateBoard:
		c.board(in.Board, in.At)
		c.position(in.FEN, in.Status)
		c.that(in.Version <= math.MaxInt64, "version %d", in.Version)
	case *wamble.UpdateBoardAssignmentTime:
		c.board(in.Board, in.At)
	case *wamble.RecordMove:
		c.board(in.Board, in.At)
		c.session(in.Session)
		c.move(in.UCI, in.Ply)
	case *wamble.RecordGameResult:
		c.board(in.Board, in.At)
		c.that(in.Result <= wamble.Draw, "result %d", in.Result)
		c.that(in.Plies >= 0 && in.Plies <= math.MaxInt32, "%d plies", in.Plies)
		c.that(in.Duration >= 0, "duration %v", in.Duration)
		c.text("reason", in.Reason, 0, MaxReason)
	case *wamble.RecordPayout:
		c.board(in.Board, in.At)
		c.session(in.Session)
		c.decimal("points", in.Points)
		c.decimal("canonical points", in.Canonical)
	case *wamble.RecordRating:
		c.board(in.Board, in.At)
		c.key(in.Key)
		c.decimal("delta", in.Delta)
	case *wamble.CreateReservation:
		c.board(in.Board, in.At)
		c.session(in.Session)
		c.at(in.Expires)
	case *wamble.RemoveReservation:
		c.board(in.Board, in.At)
	case *wamble.RecordLastMoveShown:
		c.board(in.Board, in.At)
		c.session(in.Session)
		c.text("uci", in.UCI, 1, MaxUCI)
	case *wamble.RecordPrediction:
		c.board(in.Board, in.At)
		c.session(in.Session)
		c.that(in.ID > 0 && in.Parent >= 0 && in.Parent != in.ID, "prediction %d with parent %d", in.ID, in.Parent)
		c.move(in.UCI, in.Ply)
		c.that(in.Streak >= 0 && in.Streak <= math.MaxInt32, "streak %d", in.Streak)
	case *wamble.ResolvePrediction:
		c.session(in.Session)
		c.that(in.ID > 0, "prediction %d", in.ID)
		c.that(in.Status > wamble.Pending && in.Status <= wamble.Expired, "status %v resolves nothing", in.Status)
		c.decimal("points", in.Points)
		c.at(in.At)
	default:
		c.that(false, "no store knows this kind")
	}
}

// checker keeps the first thing that is wrong.
type checker struct{ reason string }

func (c *checker) that(ok bool, format string, args ...any) {
	if !ok && c.reason == "" {
		c.reason = fmt.Sprintf(format, args...)
	}
}

func (c *checker) board(id wamble.BoardID, at time.Time) {
	c.that(id > 0 && id <= math.MaxInt64, "board %d", id)
	c.at(at)
}

func (c *checker) session(id wamble.SessionID) { c.that(id > 0, "session %d", id) }

func (c *checker) key(k wamble.PublicKey) { c.that(!k.IsZero(), "the key is zero") }

// at wants a time that happened: a forgotten one is the year 1.
func (c *checker) at(t time.Time) {
	c.that(t.Year() >= 1970 && t.Year() <= 9999, "the time %v", t)
}

func (c *checker) position(fen string, status wamble.BoardStatus) {
	c.text("fen", fen, 1, MaxFEN)
	c.that(status <= wamble.Archived, "status %d", status)
}

func (c *checker) move(uci string, ply int) {
	c.text("uci", uci, 1, MaxUCI)
	c.that(ply >= 1 && ply <= math.MaxInt32, "ply %d", ply)
}

func (c *checker) handle(h string) {
	c.that(len(h) >= 4 && len(h) <= MaxHandle, "a handle has 4 to %d characters, this one %d", MaxHandle, len(h))
	for _, r := range h {
		c.that(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z', "a handle consists of a–z, 0–9 and _, not %q", r)
	}
}

// text bounds a string. PostgreSQL takes neither broken UTF-8 nor NUL.
func (c *checker) text(what, s string, least, most int) {
	if ascii := len(s) >= least && len(s) <= most && plain(s); ascii {
		return
	}
	n := utf8.RuneCountInString(s)
	c.that(n >= least && n <= most, "the %s has %d characters, %d to %d are kept", what, n, least, most)
	c.that(utf8.ValidString(s), "the %s is not UTF-8", what)
	for _, r := range s {
		c.that(r != 0, "the %s contains NUL", what)
	}
}

// plain reports whether s is ASCII without NUL, which nearly every string is.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] == 0 || s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func (c *checker) decimal(what string, x float64) {
	c.that(math.Abs(x) < maxDecimal-0.0001, "%s %v do not fit into six digits before the point", what, x)
}
