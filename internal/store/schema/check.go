package schema

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"wamble/internal/intent"
	"wamble/internal/store"

	"wamble"
)

// Limits of the columns, in characters unless said otherwise.
const (
	MaxFEN     = 90
	MaxUCI     = 6
	MaxReason  = 31
	MaxProfile = 128
	MaxHandle  = 63
	MaxTerms   = 1 << 20
	MaxVariant = 959
	// maxDecimal bounds DECIMAL(10,4): six digits before the point.
	maxDecimal = 1e6
	// lastSecond is the end of the year 9999.
	lastSecond = 253402300799
)

// A Violation is an intent that no store will ever take.
type Violation struct {
	Kind   intent.Kind
	Reason string
}

func (e *Violation) Error() string { return fmt.Sprintf("%v: %s", e.Kind, e.Reason) }

// CheckBatch checks the frame of a batch, not its intents.
func CheckBatch(b store.Batch) error {
	var c checker
	c.text("profile", b.Profile, 1, MaxProfile)
	c.that(b.After < b.Through && b.Through <= math.MaxInt64, "the cursor steps forward, up to 63 bits")
	if c.reason != "" {
		return fmt.Errorf("batch: %s", c.reason)
	}
	return nil
}

// CheckAll checks the frame of a batch and every intent of it. Errors: that of
// CheckBatch, or the first *Violation, with its place.
func CheckAll(b store.Batch) error {
	if err := CheckBatch(b); err != nil {
		return err
	}
	for i, in := range b.Intents {
		if err := Check(in); err != nil {
			return fmt.Errorf("apply intent %d: %w", i, err)
		}
	}
	return nil
}

// Check reports what is wrong with an intent before a database sees it, in the
// same words for every store. Errors: *Violation.
func Check(in intent.Intent) error {
	var c checker
	switch in := in.(type) {
	case *intent.CreateSession:
		c.session(in.Session)
		c.that(!in.Token.IsZero(), "the token is zero")
		c.number(in.Player >= 0, "player", int64(in.Player))
		c.at(in.At)
	case *intent.LinkSession:
		c.session(in.Session)
		c.key(in.Key)
		c.number(in.Player > 0, "player", int64(in.Player))
		c.handle(in.Handle)
		c.decimal("rating", in.Rating)
		c.at(in.At)
	case *intent.UnlinkSession:
		c.session(in.Session)
		c.at(in.At)
	case *intent.RecordTermsAcceptance:
		c.session(in.Session)
		c.text("profile", in.Profile, 1, MaxProfile)
		c.text("terms", in.Text, 0, MaxTerms)
		c.at(in.At)
	case *intent.UpdateSessionLastSeen:
		c.session(in.Session)
		c.at(in.At)
	case *intent.ErasePlayer:
		c.key(in.Key)
		c.at(in.At)
	case *intent.PurgeSessions:
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
func (c *checker) game(in intent.Intent) {
	switch in := in.(type) {
	case *intent.CreateBoard:
		c.board(in.Board, in.At)
		c.position(in.FEN, in.Status)
		c.number(in.Variant >= -1 && in.Variant <= MaxVariant, "variant", int64(in.Variant))
	case *intent.UpdateBoard:
		c.board(in.Board, in.At)
		c.position(in.FEN, in.Status)
		c.that(in.Version <= math.MaxInt64, "the version has more than 63 bits")
	case *intent.UpdateBoardAssignmentTime:
		c.board(in.Board, in.At)
	case *intent.RecordMove:
		c.board(in.Board, in.At)
		c.session(in.Session)
		c.move(in.UCI, in.Ply)
	case *intent.RecordGameResult:
		c.board(in.Board, in.At)
		c.number(in.Result <= wamble.Draw, "result", int64(in.Result))
		c.number(in.Plies >= 0 && in.Plies <= math.MaxInt32, "number of plies", int64(in.Plies))
		c.number(in.Duration >= 0, "duration", int64(in.Duration))
		c.text("reason", in.Reason, 0, MaxReason)
	case *intent.RecordPayout:
		c.board(in.Board, in.At)
		c.session(in.Session)
		c.decimal("points", in.Points)
		c.decimal("canonical points", in.Canonical)
	case *intent.RecordRating:
		c.board(in.Board, in.At)
		c.that(!in.Key.IsZero() || in.Session > 0, "neither a key nor a session is given")
		c.decimal("delta", in.Delta)
	case *intent.CreateReservation:
		c.board(in.Board, in.At)
		c.session(in.Session)
		c.at(in.Expires)
	case *intent.RemoveReservation:
		c.board(in.Board, in.At)
	case *intent.RecordLastMoveShown:
		c.board(in.Board, in.At)
		c.session(in.Session)
		c.text("uci", in.UCI, 1, MaxUCI)
	case *intent.RecordPrediction:
		c.board(in.Board, in.At)
		c.session(in.Session)
		c.number(in.ID > 0, "prediction", int64(in.ID))
		c.number(in.Parent >= 0 && in.Parent != in.ID, "parent", int64(in.Parent))
		c.move(in.UCI, in.Ply)
		c.number(in.Streak >= 0 && in.Streak <= math.MaxInt32, "streak", int64(in.Streak))
	case *intent.ResolvePrediction:
		c.session(in.Session)
		c.number(in.ID > 0, "prediction", int64(in.ID))
		c.number(in.Status > wamble.Pending && in.Status <= wamble.Expired, "resolved status", int64(in.Status))
		c.decimal("points", in.Points)
		c.at(in.At)
	default:
		c.that(false, "no store knows this kind")
	}
}

// checker keeps the first thing that is wrong.
type checker struct{ reason string }

func (c *checker) that(ok bool, otherwise string) {
	if !ok && c.reason == "" {
		c.reason = otherwise
	}
}

func (c *checker) number(ok bool, what string, n int64) {
	if !ok {
		c.that(false, fmt.Sprintf("there is no %s %d", what, n))
	}
}

func (c *checker) board(id wamble.BoardID, at time.Time) {
	c.number(id > 0 && id <= math.MaxInt64, "board", int64(id))
	c.at(at)
}

func (c *checker) session(id wamble.SessionID) { c.number(id > 0, "session", int64(id)) }

func (c *checker) key(k wamble.PublicKey) { c.that(!k.IsZero(), "the key is zero") }

// at wants a time that happened: a forgotten one is the year 1.
func (c *checker) at(t time.Time) {
	s := t.Unix()
	c.that(s >= 0 && s <= lastSecond, "the time is missing, or not between 1970 and 9999")
}

func (c *checker) position(fen string, status wamble.BoardStatus) {
	c.text("fen", fen, 1, MaxFEN)
	c.number(status <= wamble.Archived, "status", int64(status))
}

func (c *checker) move(uci string, ply int) {
	c.text("uci", uci, 1, MaxUCI)
	c.number(ply >= 1 && ply <= math.MaxInt32, "ply", int64(ply))
}

func (c *checker) handle(h string) {
	c.that(len(h) >= 4 && len(h) <= MaxHandle, "a handle has 4 to 63 characters")
	for _, r := range h {
		c.that(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z', "a handle consists of a–z, 0–9 and _")
	}
}

// text bounds a string. PostgreSQL takes neither broken UTF-8 nor NUL.
func (c *checker) text(what, s string, least, most int) {
	if ascii := len(s) >= least && len(s) <= most && plain(s); ascii {
		return
	}
	n := utf8.RuneCountInString(s)
	if n < least || n > most {
		c.that(false, fmt.Sprintf("the %s has %d characters, %d to %d are kept", what, n, least, most))
	}
	c.that(utf8.ValidString(s), what+" is not UTF-8")
	c.that(strings.IndexByte(s, 0) < 0, what+" contains NUL")
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
	if !(math.Abs(x) < maxDecimal-0.0001) { // which is also false for NaN
		c.that(false, fmt.Sprintf("%s %v do not fit into six digits before the point", what, x))
	}
}
