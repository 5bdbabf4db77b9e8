package wire

// Flags is the bit mask of a header. Two bits mean different things on
// different control codes, and on the two hellos the low seven bits are a mask
// of capabilities.
type Flags uint8

// The flags. Append computes ExtPayload and FragmentPayload itself, whatever
// the caller says.
const (
	Unreliably              Flags = 0x80 // fire and forget: no ACK, no duplicate filter
	BoardIs960              Flags = 0x01 // server: the board plays Chess960, and the session may know
	FilterChess960          Flags = 0x02 // SPECTATE_GAME: Chess960 boards in the summary
	PredictionContext       Flags = 0x02 // GET_LEGAL_MOVES: for a prediction, not for a move
	FilterStandard          Flags = 0x04 // SPECTATE_GAME: standard boards in the summary
	ExtPayload              Flags = 0x08 // the payload ends in an extension trailer
	FragmentPayload         Flags = 0x10 // the payload is one fragment
	SpectateSummaryFallback Flags = 0x20 // SERVER_NOTIFICATION: watching fell back to the summary
	SpectateStopped         Flags = 0x40 // SERVER_NOTIFICATION: watching ended
)

// Capabilities, in the flags of CLIENT_HELLO (asked for) and SERVER_HELLO
// (granted).
const (
	CapHotReload    Flags = 0x01
	CapProfileState Flags = 0x02

	capMask Flags = 0x7F
	capsAll       = CapHotReload | CapProfileState
)

// Unreliable reports whether the packet is neither acknowledged nor filtered
// for duplicates.
func (f Flags) Unreliable() bool { return f&Unreliably != 0 }

// Negotiate returns the capabilities that a SERVER_HELLO grants when f are the
// flags of the CLIENT_HELLO: both when none is asked for, else those of the
// two that are. A hello with an extension trailer asks for bit 0x08, which is
// neither, so that it may be granted nothing.
func (f Flags) Negotiate() Flags {
	if f&capMask == 0 {
		return capsAll
	}
	return f & capsAll
}
