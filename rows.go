package wamble

import "time"

// Stats is the totals of a session, or of an identity over all its sessions.
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
	Token    TokenHash // zero: cannot be resumed
	Player   PlayerID  // 0: anonymous
	Key      PublicKey // zero: anonymous
	Handle   string    // "": anonymous
	Trust    int
	Created  time.Time
	LastSeen time.Time
	Stats    Stats
	// Host is the only host where the token is valid, in the form of netip.Prefix; "": all.
	Host string
	Bot  bool // a program, by its own account
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
	Renamed time.Time // when the player chose the handle; zero: never
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

// Reservation is a session's hold on a board. Key is that of the holder.
type Reservation struct {
	Board   BoardID
	Profile string
	Session SessionID
	Key     PublicKey
	White   bool
	At      time.Time
	Expires time.Time
	Handle  string // of a holder in memory; not stored
	Bot     bool   // the holder in memory is a program; not stored
}

// GameResult is the end of a board's game.
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
	Bot     bool    // by a program's session
	Rating  float64 // present rating of the player; 0: anonymous
	At      time.Time
}

// GameFilter selects games.
type GameFilter struct {
	Profile  string    // "": all profiles
	After    BoardID   // only boards with a higher number
	Since    time.Time // only boards with a move or a result since that time; zero: all
	Finished bool      // only archived boards
}

// PastQuery asks for the boards that existed between two times, the newest first.
type PastQuery struct {
	Profile     string
	From, Until time.Time
	Board       BoardID // begin here, as given by Past.Next; 0: with the newest
	Limit       int     // 1 to 256
}

// Past is one page of a PastQuery.
type Past struct {
	// Boards are in their present state, with all their moves.
	Boards []Board
	Next   BoardID // where the next page begins; 0: this is the last
}

// ScoreQuery asks for finished boards of a player, newest first: by time, then by number.
type ScoreQuery struct {
	Player PlayerID
	Before time.Time // zero: begin with the newest
	Board  BoardID   // of boards that ended at Before, only those with lower numbers
	Limit  int       // 1 to 100
}

// Score is what a finished board brought a player, over all their sessions.
type Score struct {
	Board  BoardID
	Points float64
	Rating float64 // change of the rating
	At     time.Time
}

// Trail is the boards that a player has last moved on, over all their sessions.
type Trail struct {
	Sessions []SessionID // of the player
	Seen     time.Time   // last sign of life of a session other than the asking one; zero: never
	Boards   []Board     // with their moves, in no order; at most 64
	Paid     []Score     // payouts of these boards, without rating and time
}

// LeaderboardQuery asks for rows Offset+1 … Offset+Limit.
type LeaderboardQuery struct {
	Season   int  // a month, such as 202611: only what was won in it; 0: all time
	Bots     bool // ranks programs instead of people
	ByRating bool // not for a season
	Offset   int
	Limit    int       // 1 to 16
	Self     SessionID // the asking session; 0: none
}

// Leaderboard is one page of the ranking.
type Leaderboard struct {
	Total int
	Teams [2]float64 // points of White's and Black's teams in the season
	Rows  []LeaderboardRow
	Self  *LeaderboardRow // nil: unknown, or without points in the season; Rank 0: in the other ranking
}

// LeaderboardRow is the rank of one player, with their last seen session, or of a session without a player.
type LeaderboardRow struct {
	Rank    int
	Who     int64 // number of the player, or negated number of a guest's session
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

// PeopleQuery looks for people: players, and guests by their sessions. The first field that is not zero is
// used.
type PeopleQuery struct {
	Name     string        // part of a handle, regardless of case
	Key      *[2]PublicKey // first and last key
	Token    *[2]TokenHash // first and last hash of a token
	Sessions []SessionID   // at most 1,000
	Board    BoardID       // they have moved on it or hold it
	Limit    int           // 1 to 1,000
}

// Person is a player, or a guest.
type Person struct {
	Player  PlayerID  // 0: a guest
	Session SessionID // last seen; 0: a player without sessions
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
