package wire

import (
	"fmt"
	"slices"
	"strconv"
)

// Flags is the bit mask of a header. Some bits have several meanings, depending on the control
// code; in the two hellos the low seven bits are capabilities.
type Flags uint8

// The flags. Append sets or clears FlagExt and FlagFragment regardless of the caller.
const (
	FlagUnreliable        Flags = 0x80
	FlagBoardIs960        Flags = 0x01
	FlagFilterChess960    Flags = 0x02
	FlagPredictionContext Flags = 0x02
	FlagFilterStandard    Flags = 0x04
	FlagExt               Flags = 0x08
	FlagFragment          Flags = 0x10
	FlagSummaryFallback   Flags = 0x20
	FlagSpectateStopped   Flags = 0x40
)

// The capabilities, in the flags of CLIENT_HELLO (requested) and SERVER_HELLO (granted).
const (
	CapHotReload    Flags = 0x01
	CapProfileState Flags = 0x02

	capMask Flags = 0x7F
	capsAll       = CapHotReload | CapProfileState
)

// FlagName is the row of one flag.
type FlagName struct {
	Bit     Flags
	Name    string
	Meaning string
	// On are the control codes on which the bit has this meaning; nil means all.
	On []Control
}

// FlagNames is the table of flags. The first row that matches a bit and a control code has the
// bit's name.
var FlagNames = []FlagName{
	{FlagUnreliable, "UNRELIABLE", "fire and forget: no ACK, no duplicate filter", nil},
	{CapHotReload, "CAP_HOT_RELOAD", "capability hot-reload, asked for or granted", hellos},
	{CapProfileState, "CAP_PROFILE_STATE", "capability profile-state, asked for or granted", hellos},
	{FlagBoardIs960, "BOARD_IS_960", "the board plays Chess960; only to sessions that may see the game mode", boardPackets},
	{FlagFilterChess960, "MODE_FILTER_CHESS960", "Chess960 boards in the summary", []Control{CtrlSpectateGame}},
	{FlagFilterStandard, "MODE_FILTER_STANDARD", "standard boards in the summary", []Control{CtrlSpectateGame}},
	{FlagPredictionContext, "PREDICTION_CONTEXT", "the moves are wanted for a prediction", []Control{CtrlGetLegalMoves}},
	{FlagExt, "EXT_PAYLOAD", "the payload ends in an extension trailer", nil},
	{FlagFragment, "FRAGMENT_PAYLOAD", "the payload is one fragment", nil},
	{FlagSummaryFallback, "SPECTATE_NOTICE_SUMMARY_FALLBACK", "watching fell back to the summary", []Control{CtrlServerNotification}},
	{FlagSpectateStopped, "SPECTATE_NOTICE_STOPPED", "watching has ended", []Control{CtrlServerNotification}},
}

var (
	hellos       = []Control{CtrlClientHello, CtrlServerHello}
	boardPackets = []Control{CtrlBoardUpdate, CtrlSpectateUpdate, CtrlLoginSuccess, CtrlProfileInfo}
)

// Unreliable reports whether the packet is neither acknowledged nor filtered
// for duplicates.
func (f Flags) Unreliable() bool { return f&FlagUnreliable != 0 }

// Negotiate returns the capabilities that a SERVER_HELLO grants to a CLIENT_HELLO with flags f:
// both if none is requested, else the requested ones. A hello with an extension trailer
// requests bit 0x08, which is neither of them, so it may be granted nothing.
func (f Flags) Negotiate() Flags {
	if f&capMask == 0 {
		return capsAll
	}
	return f & capsAll
}

// Names returns the names of the set bits on a packet of c, from the highest bit to the lowest.
// A bit without a meaning on c is written in hexadecimal.
func (f Flags) Names(c Control) []string {
	names := make([]string, 0, 8)
	for bit := Flags(0x80); bit != 0; bit >>= 1 {
		if f&bit != 0 {
			names = append(names, bit.name(c))
		}
	}
	return names
}

func (f Flags) name(c Control) string {
	for _, row := range FlagNames {
		if row.Bit == f && (row.On == nil || slices.Contains(row.On, c)) {
			return row.Name
		}
	}
	return fmt.Sprintf("0x%02X", uint8(f))
}

// ParseFlags parses names written by Names.
func ParseFlags(c Control, names []string) (Flags, error) {
	var f Flags
	for _, name := range names {
		bit, err := parseFlag(c, name)
		if err != nil {
			return 0, err
		}
		f |= bit
	}
	return f, nil
}

func parseFlag(c Control, name string) (Flags, error) {
	for bit := Flags(0x80); bit != 0; bit >>= 1 {
		if bit.name(c) == name {
			return bit, nil
		}
	}
	if v, err := strconv.ParseUint(name, 0, 8); err == nil {
		return Flags(v), nil
	}
	return 0, fmt.Errorf("%w: a packet of %v has no flag %q", ErrInvalid, c, name)
}
