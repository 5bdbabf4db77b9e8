package chess

// Game is a game as PGN records it.
type Game struct {
	// Tags are the tag pairs other than Result, SetUp, FEN and Variant, which
	// follow from the fields below; at most 64. The seven tags that every PGN has are
	// written first whatever their order here, with "?" for a missing one.
	Tags []Tag
	// Comment stands before the first move.
	Comment string
	// Start is the position before the first move.
	Start  Position
	Plies  []Ply
	Result Result
}

// Tag is one tag pair. A name has 1 to 64 letters, digits and underscores; a
// value is UTF-8 without control characters.
type Tag struct{ Name, Value string }

// Ply is a move and what is said about it: who made it, and when. A comment
// is less than 1024 bytes of UTF-8 without closing braces; white space in it is
// read as one space.
type Ply struct {
	Move    Move
	Comment string
	// NAGs are annotation glyphs: 1 is a good move (!), 2 a mistake (?), and so on as
	// PGN numbers them; at most 16.
	NAGs []uint8
	// Variations are what could have been played instead of Move.
	Variations []Variation
}

// Variation is a line that was not played.
type Variation struct {
	Comment string // before its first move
	Plies   []Ply  // at least one
}

// Tag returns the value of the named tag, "" if there is none.
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

// roster is the seven tags of every PGN, in their order, with what stands for
// an unknown value. The value of Result is the game's.
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

// derived names the tags that follow from other fields of a Game.
func derived(name string) bool {
	switch name {
	case "Result", "SetUp", "FEN", "Variant":
		return true
	}
	return false
}

// MaxPGN is the length in bytes of the longest game that ParsePGN reads.
const MaxPGN = 1 << 20

// What one game may hold, in bytes or in number.
const (
	maxTagName = 64
	maxTags    = 64
	maxComment = 1024 // on one move
	maxNAGs    = 16   // of one move
	maxNesting = 32   // of variations in variations
)
