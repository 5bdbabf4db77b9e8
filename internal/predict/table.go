package predict

import (
	"wamble"
	"wamble/internal/intent"
)

// Fixed bounds. Beyond them the status is Limit.
const (
	maxTree  = 4096    // predictions of one board in memory
	maxTable = 1 << 20 // predictions of all boards in memory
	maxDepth = 64      // how far ahead a player can predict, in plies
)

// Mode says which players may predict.
type Mode uint8

// The closed list of modes, with the numbers of the option.
const (
	Off    Mode = iota
	Holder      // only the player who is to move on the board
	Streak      // all players; points grow with a streak of correct predictions
	Gated       // as Streak, for a share of the players
)

// Options is the predictions' part of a profile's configuration.
type Options struct {
	Mode Mode
	// Base is what a correct prediction pays. It is multiplied by Multiplier for each correct one before it
	// in a row, at most Cap−1 times.
	Base, Multiplier float64
	Cap              int
	// Penalty is what a wrong prediction costs; its sign is ignored.
	Penalty float64
	// Percent is the share of players that Gated admits.
	Percent int
	// Depth is how deep readers see into a tree.
	Depth int
	// AnyPromotion makes a prediction correct regardless of the promotion.
	AnyPromotion bool
	// MaxPending bounds the pending predictions of all players under one parent, MaxPerParent those of one
	// player. MaxPending 0 allows none, MaxPerParent 0 means no bound.
	MaxPending, MaxPerParent int
	// OnePerMove refuses a move that another player has predicted already.
	OnePerMove bool
}

// NewID returns the number of a new prediction, each once; false if none is left for now.
type NewID func() (wamble.PredictionID, bool)

// Table is the predictions of all boards. It is used by one goroutine.
type Table struct {
	opts    Options
	newID   NewID
	key     [32]byte // of the pseudonyms
	trees   map[wamble.BoardID]*tree
	size    int     // predictions in memory
	moved   []int32 // buffer of prune and Erase: the new index of each node
	intents struct {
		record  intent.RecordPrediction
		resolve intent.ResolvePrediction
	}
}

// New returns an empty table. The key makes its pseudonyms, and can reveal the authors behind them.
func New(opts Options, newID NewID, key [32]byte) *Table {
	return &Table{opts: opts, newID: newID, key: key, trees: map[wamble.BoardID]*tree{}}
}

// Options returns the table's options.
func (b *Table) Options() *Options { return &b.opts }

// Reconfigure changes the options. They apply to pending predictions, too.
func (b *Table) Reconfigure(opts Options) { b.opts = opts }

// Open reports whether any player may predict.
func (b *Table) Open() bool { return b.opts.Mode != Off }

// Len returns how many predictions are in memory.
func (b *Table) Len() int { return b.size }

// Has reports whether there are predictions of a board.
func (b *Table) Has(id wamble.BoardID) bool { return b.trees[id] != nil }

// MayPredict reports whether the mode lets a player predict on a board that they hold, or do not hold.
func (b *Table) MayPredict(token wamble.Token, holds bool) bool {
	switch b.opts.Mode {
	case Off:
		return false
	case Holder:
		return holds
	case Gated:
		return int(hash(token)%100) < b.opts.Percent
	}
	return true
}

// hash is FNV-1a, as in the original, so that the same players are admitted.
func hash(token wamble.Token) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range token {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}
