package predict

import (
	"wamble"
	"wamble/internal/intent"
)

// Bounds that nobody needs to tune: beyond them the status is Limit.
const (
	maxTree  = 4096    // predictions of one board in memory
	maxBook  = 1 << 20 // predictions of all boards in memory
	maxDepth = 64      // plies that a player can look ahead
)

// Mode says who may predict.
type Mode uint8

// The closed list of modes, with the numbers of the option.
const (
	Off    Mode = iota
	Holder      // only the player who is to move on the board
	Streak      // everybody; points grow with a run of right predictions
	Gated       // as Streak, but only a share of the players
)

// Options is what a profile's config says about predictions.
type Options struct {
	Mode Mode
	// Base is what a right prediction pays. It is multiplied by Multiplier for
	// each right one before it in a row, at most Cap−1 times.
	Base, Multiplier float64
	Cap              int
	// Penalty is what a wrong prediction costs; its sign does not matter.
	Penalty float64
	// Percent is the share of players whom Gated lets in.
	Percent int
	// Depth is how deep readers see into a tree.
	Depth int
	// AnyPromotion counts a prediction as right whatever the pawn becomes.
	AnyPromotion bool
	// MaxPending bounds the open predictions of all players under one parent,
	// MaxPerParent those of one player; 0: no bound.
	MaxPending, MaxPerParent int
	// OnePerMove refuses a move that another player predicts already.
	OnePerMove bool
}

// NewID hands out the number of a new prediction, each only once; false when
// none is left for now.
type NewID func() (wamble.PredictionID, bool)

// Book is the predictions of all boards. It belongs to one goroutine.
type Book struct {
	opts    Options
	newID   NewID
	key     [32]byte // of the pseudonyms
	trees   map[wamble.BoardID]*tree
	size    int     // predictions in memory
	moved   []int32 // scratch of prune: the new index of each node
	intents struct {
		record  intent.RecordPrediction
		resolve intent.ResolvePrediction
	}
}

// New returns an empty book. The key makes its pseudonyms: whoever knows the key
// can tell whose they are.
func New(opts Options, newID NewID, key [32]byte) *Book {
	return &Book{opts: opts, newID: newID, key: key, trees: map[wamble.BoardID]*tree{}}
}

// Options returns the book's options.
func (b *Book) Options() *Options { return &b.opts }

// Reconfigure changes the options. Pending predictions are resolved by the new
// ones.
func (b *Book) Reconfigure(opts Options) { b.opts = opts }

// Open reports whether predictions are taken from anybody at all.
func (b *Book) Open() bool { return b.opts.Mode != Off }

// Len returns how many predictions are in memory.
func (b *Book) Len() int { return b.size }

// Has reports whether there are predictions of a board.
func (b *Book) Has(id wamble.BoardID) bool { return b.trees[id] != nil }

// MayPredict reports whether a player may predict the moves of a board that he
// holds, or does not hold, by the mode alone.
func (b *Book) MayPredict(token wamble.Token, holds bool) bool {
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

// hash is FNV-1a, as in the original, so that the same players are let in.
func hash(token wamble.Token) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range token {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}
