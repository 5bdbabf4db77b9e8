package chess

// Game is a game as in a PGN file.
type Game struct {
	// Tags are the tag pairs other than Result, SetUp, FEN and Variant, which follow from the
	// fields below; at most 64. The seven tags of every PGN are written first in any case, with
	// "?" for a missing one.
	Tags []Tag
	// Comment precedes the first move.
	Comment string
	// Start is the position before the first move.
	Start  Position
	Plies  []Ply
	Result Result
}

// Tag is one tag pair. A name has 1 to 64 letters, digits and underscores; a
// value is UTF-8 without control characters.
type Tag struct{ Name, Value string }

// Ply is a move with its comment, annotations and variations. A comment, for example who made
// the move and when, is less than 1024 bytes of UTF-8 without closing braces; white space in it
// is read as one space.
type Ply struct {
	Move    Move
	Comment string
	// NAGs are numeric annotation glyphs as in PGN, for example 1 for a good move (!) and 2 for
	// a mistake (?); at most 16.
	NAGs []uint8
	// Variations are lines that could have been played instead of Move.
	Variations []Variation
}

// Variation is a line that was not played.
type Variation struct {
	Comment string // before its first move
	Plies   []Ply  // at least one
}

// Tag returns the value of the named tag, or "" if the game does not have it.
func (g *Game) Tag(name string) string {
	for _, tag := range g.Tags {
		if tag.Name == name {
			return tag.Value
		}
	}
	return ""
}

// End returns the position after the last move.
func (g *Game) End() Position {
	p := g.Start
	for _, ply := range g.Plies {
		p = p.Play(ply.Move)
	}
	return p
}

// roster has the seven tags of every PGN in their order, with their values if unknown. The
// value of Result is the game's.
var roster = [...]Tag{
	{"Event", "?"},
	{"Site", "?"},
	{"Date", "????.??.??"},
	{"Round", "?"},
	{"White", "?"},
	{"Black", "?"},
	{"Result", ""},
}

func inRoster(name string) bool {
	for _, tag := range roster {
		if tag.Name == name {
			return true
		}
	}
	return false
}

// derived reports whether a tag follows from other fields of a Game.
func derived(name string) bool {
	switch name {
	case "Result", "SetUp", "FEN", "Variant":
		return true
	}
	return false
}

// MaxPGN is the length in bytes of the longest game that ParsePGN reads.
const MaxPGN = 1 << 20

// The limits of one game, in bytes or in number.
const (
	maxTagName = 64
	maxTags    = 64
	maxComment = 1024 // on one move
	maxNAGs    = 16   // of one move
	maxNesting = 32   // of variations in variations
)
