package config

// Predictions is the game beside the game: guessing the next move.
type Predictions struct {
	// Mode says who may predict: off nobody, holder the player who holds the
	// board, streak everybody, with points that grow with a run of right guesses,
	// gated only a share of the players.
	Mode string `option:"prediction-mode" default:"streak" set:"0=off|1=holder|2=streak|3=gated" room:"predict"`

	// BasePoints is what a right prediction pays.
	BasePoints float64 `option:"prediction-base-points" default:"1.0" range:"0..1000000" unit:"points" room:"predict"`

	// StreakMultiplier multiplies the points for each right prediction in a
	// row.
	StreakMultiplier float64 `option:"prediction-streak-multiplier" default:"2.0" range:"0..1000" room:"predict"`

	// StreakCap is the length of a streak from which the points stop growing.
	StreakCap int `option:"prediction-streak-cap" default:"10" range:"1..64" unit:"predictions" room:"predict"`

	// GatedPercent is the share of players who may predict in mode gated.
	GatedPercent int `option:"prediction-gated-percent" default:"10" range:"0..100" unit:"%" room:"predict"`

	// ViewDepthLimit is how deep into the tree of predictions a player may
	// look.
	ViewDepthLimit int `option:"prediction-view-depth-limit" default:"2" range:"0..64" unit:"plies" room:"predict"`

	// PenaltyIncorrect is what a wrong prediction costs; its sign does not
	// matter.
	PenaltyIncorrect float64 `option:"prediction-penalty-incorrect" default:"0.0" range:"-1000000..1000000" unit:"points" room:"predict"`

	// MatchPolicy says when a prediction is right: exact-uci compares the
	// whole move, from-to-only leaves the piece of a promotion open.
	MatchPolicy string `option:"prediction-match-policy" default:"exact-uci" set:"exact-uci|from-to-only" room:"predict"`

	// MaxPending is how many open predictions a position may have, from all
	// players together.
	MaxPending int `option:"prediction-max-pending" default:"64" range:"1..100000" unit:"predictions" room:"predict"`

	// MaxPerParent is how many open predictions one player may have on a
	// position. 0 is no limit.
	MaxPerParent int `option:"prediction-max-per-parent" default:"1" range:"0..100000" unit:"predictions" room:"predict"`

	// EnforceMoveDuplicate refuses a prediction that somebody else has made
	// already.
	EnforceMoveDuplicate bool `option:"prediction-enforce-move-duplicate" default:"1" room:"predict"`
}

// Spectators is who may watch, and how much of it is sent.
type Spectators struct {
	// MaxSpectators is how many may watch at a time; -1 is no limit.
	MaxSpectators int `option:"max-spectators" default:"1024" range:"-1..10000000" unit:"spectators" room:"spectate"`

	// AdminTrustLevel is the trust tier from which a spectator of a single
	// board is let in though all places are taken. -1 is nobody.
	AdminTrustLevel int `option:"admin-trust-level" default:"-1" range:"-1..2147483647" unit:"tier" room:"spectate"`

	// Visibility is the trust tier that a player needs to watch.
	Visibility int `option:"spectator-visibility" default:"0" range:"0..2147483647" unit:"tier" room:"spectate"`

	// SummaryHz is how often a second the wall of boards is sent to a watcher.
	// 0 sends it once.
	SummaryHz int `option:"spectator-summary-hz" default:"2" range:"0..1000" unit:"Hz" room:"spectate"`

	// FocusHz is how often a second a single watched board is sent. 0 sends it
	// once.
	FocusHz int `option:"spectator-focus-hz" default:"20" range:"0..1000" unit:"Hz" room:"spectate"`

	// MaxFocus is how many single boards a session may watch; 0 leaves only
	// the wall, and more than 1 acts as 1.
	MaxFocus int `option:"spectator-max-focus-per-session" default:"1" range:"0..64" unit:"boards" room:"spectate"`

	// SummaryMode says what an update of the wall holds: changes only the
	// boards that moved, full all of them.
	SummaryMode string `option:"spectator-summary-mode" default:"changes" set:"changes|full" room:"spectate"`

	// PacketsPerWatcher is how many packets a second one watcher gets at most,
	// boards that moved last first. 0 turns the limit off.
	PacketsPerWatcher int `option:"spectator-packets-per-sec" default:"200" range:"0..1000000" unit:"packets/s" room:"spectate"`

	// PacketsPerProfile is how many packets a second all watchers of the
	// profile get together at most, so that players stay undisturbed. 0 turns
	// the limit off.
	PacketsPerProfile int `option:"spectator-total-packets-per-sec" default:"20000" range:"0..100000000" unit:"packets/s" room:"spectate"`
}
