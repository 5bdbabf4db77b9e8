package wamble

import "time"

// Stats are the counters of a session, or of an identity over all its
// sessions.
type Stats struct {
	Score           float64
	PredictionScore float64
	Rating          float64 // 0 for an anonymous session
	Games           int
	Chess960Games   int
}

// Session is a stored session.
type Session struct {
	ID       SessionID
	Token    TokenHash // zero: it cannot be resumed
	Player   PlayerID  // 0: anonymous
	Key      PublicKey // zero: anonymous
	Handle   string    // "": anonymous
	Trust    int
	Created  time.Time
	LastSeen time.Time
	Stats    Stats
	// Host is where alone the token is good, in the form of netip.Prefix; "":
	// everywhere.
	Host string
	Bot  bool // it has said that a program plays
}

// TrustLevel is the stored trust in a session.
type TrustLevel struct {
	Session SessionID
	Level   int
}

// Player is a stored identity.
type Player struct {
	ID      PlayerID
	Key     PublicKey
	Handle  string
	Created time.Time
	Renamed time.Time // when he chose his handle; zero: never
	Stats   Stats
}

// Board is a stored board with its game.
type Board struct {
	ID           BoardID
	Profile      string
	FEN          string
	Status       BoardStatus
	Variant      int16 // Chess960 start position, or -1
	Version      uint64
	Created      time.Time
	LastAssigned time.Time // zero: never
	Holder       *Reservation
	Result       *GameResult
	Moves        []Move
}

// Reservation says who holds a board. Key is that of the holder.
type Reservation struct {
	Board   BoardID
	Profile string
	Session SessionID
	Key     PublicKey
	White   bool
	At      time.Time
	Expires time.Time
	Handle  string // of a holder in memory; not stored
	Bot     bool   // of a holder in memory that a program plays; not stored
}

// GameResult is how a board ended.
type GameResult struct {
	Result   Result
	Plies    int
	Duration time.Duration
	Reason   string
	Finished time.Time
}

// Move is one stored move.
type Move struct {
	Ply     int
	UCI     string
	Session SessionID
	Player  PlayerID
	Handle  string  // "": anonymous
	Bot     bool    // of a session that a program plays
	Rating  float64 // of the player now; 0: anonymous
	At      time.Time
}

// GameFilter chooses games.
type GameFilter struct {
	Profile  string    // "": all profiles
	After    BoardID   // only boards with a higher number
	Since    time.Time // only boards with a move or a result since then; zero: all
	Finished bool      // only archived boards
}

// PastQuery asks for the boards that were there between two times, the last made first.
type PastQuery struct {
	Profile     string
	From, Until time.Time
	Board       BoardID // from this one on, as in Past.Next; 0: from the newest
	Limit       int     // 1 to 256
}

// Past is one page of the past.
type Past struct {
	// Boards are as they are now, with all their moves.
	Boards []Board
	Next   BoardID // where the next page begins; 0: there is none
}

// ScoreQuery asks for finished boards of a player, newest first: by time, and
// then by number.
type ScoreQuery struct {
	Player PlayerID
	Before time.Time // zero: from the newest on
	Board  BoardID   // of the boards that ended at Before only the lower numbers
	Limit  int       // 1 to 100
}

// Score is what a finished board brought a player, over all his sessions.
type Score struct {
	Board  BoardID
	Points float64
	Rating float64 // by which his rating changed
	At     time.Time
}

// Trail is the boards that a player has moved on last, over all his sessions.
type Trail struct {
	Sessions []SessionID // whose moves are his
	Seen     time.Time   // when one of them but the asking one was last seen; zero: never
	Boards   []Board     // with their moves, in no order; at most 64
	Paid     []Score     // what they have paid him, without rating and time
}

// LeaderboardQuery asks for rows Offset+1 … Offset+Limit.
type LeaderboardQuery struct {
	Season   int  // a month, 202611: what was won in it; 0: all time
	Bots     bool // programs are ranked, not people
	ByRating bool // not of a season
	Offset   int
	Limit    int       // 1 to 16
	Self     SessionID // 0: nobody asks
}

// Leaderboard is one page of the ranking.
type Leaderboard struct {
	Total int
	Teams [2]float64 // what White's and Black's teams have won in the season
	Rows  []LeaderboardRow
	Self  *LeaderboardRow // nil: the asking session is unknown, or has won nothing in the season; Rank 0: it is in the other ranking
}

// LeaderboardRow is the rank of one player, with the session that was seen last, or of a
// session without a player.
type LeaderboardRow struct {
	Rank    int
	Who     int64 // number of the player, or of a guest's session below 0
	Session SessionID
	Key     PublicKey
	Handle  string
	Stats   Stats
}

// Prediction is a stored prediction.
type Prediction struct {
	ID      PredictionID
	Board   BoardID
	Session SessionID
	Parent  PredictionID
	UCI     string
	Ply     int
	Depth   int // 0 for a root
	Streak  int
	Status  PredictionStatus
	Points  float64
	At      time.Time
}

// PeopleQuery looks for people: players, and guests by their sessions. One of the ways
// to name them is used, the first that is not zero.
type PeopleQuery struct {
	Name     string        // part of a handle, without regard to case
	Key      *[2]PublicKey // the first and the last key
	Token    *[2]TokenHash // the first and the last hash of a token
	Sessions []SessionID   // at most 1,000
	Board    BoardID       // who has moved on it or holds it
	Limit    int           // 1 to 1,000
}

// Person is a player, or a guest.
type Person struct {
	Player  PlayerID  // 0: a guest
	Session SessionID // the one that was seen last; 0: a player without any
	Key     PublicKey
	Handle  string
	Score   float64
	Rating  float64
	Games   int
	Created time.Time
	Seen    time.Time
}

// FormerName is a name that a player had until a time.
type FormerName struct {
	Name  string    `json:"name"`
	Until time.Time `json:"until"`
}

// Acceptance says that a session has accepted terms.
type Acceptance struct {
	Session SessionID
	Profile string
	Hash    [32]byte
	At      time.Time
}
