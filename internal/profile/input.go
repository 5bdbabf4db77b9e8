package profile

import (
	"wamble"
	"wamble/internal/config"
)

// Kind says what an Input is.
type Kind uint8

// The closed list of inputs, with the fields that each uses.
const (
	// Packet is a datagram, or a packet out of a WebSocket message: Peer, Data.
	Packet Kind = iota + 1
	// PeerClosed is the end of a WebSocket connection: Peer.
	PeerClosed
	// Loaded is the answer of the store to a Load: Load, Outcome, and with Found
	// what its Subject says of Session, Board and Answer.
	Loaded
	// Durable says that all frames up to those of Gate are durable; Seq is the
	// number of the last of them in the journal. Gates come in order.
	Durable
	// Applied says that the store has everything up to message Seq of the
	// journal.
	Applied
	// Leased brings numbers: Sequence, Blocks. No blocks: the lease failed, and
	// will be wished for again.
	Leased
	// Tick says only that time has passed, when Output.Next has come.
	Tick
	// Configure changes the options: Config.
	Configure
	// StoreAway and StoreBack say whether the store can be asked. It can at
	// first.
	StoreAway
	StoreBack
	// JournalFailed ends all deciding: what memory decided last may be lost. The
	// caller makes a new Profile when the journal works again.
	JournalFailed
	// ReadOnly says that the journal has no room for more: what would decide
	// something is turned away until Writable. Reading goes on.
	ReadOnly
	Writable
	// RestoreBoard is a board that the store has, at the start: Board, and what
	// is predicted of it, Answer.Predictions. Its holder becomes a player.
	RestoreBoard
	// RestoreSession is a session that the store has, at the start, of a player
	// who holds a board: Session.
	RestoreSession
	// Ready ends the start: everything is restored. Before, requests are refused.
	Ready
	// Announce says something to everybody who is here, a portion at a time:
	// Word.Notice, Word.Text.
	Announce
	// Kick ends sessions: Word.Whom, Word.Text. Whoever was kicked may come back.
	Kick
	// Ban ends sessions and keeps them out: Word.Whom, Word.Text, Word.Until. It
	// is forgotten when the profile ends: the caller tells it again.
	Ban
	// Unban lets somebody in again: Word.Whom.
	Unban
	// SetBrownout says what the profile does without for now: Word.Brownout.
	SetBrownout
	// Erase deletes what belongs to an identity: Word.Whom.Key. Its games stay.
	Erase
	// Archive ends the game of a board as a draw: Word.Board.
	Archive
	// Purge deletes anonymous sessions that were silent for longer than
	// retention-days, with what they predicted and were shown.
	Purge
	// Adopt replaces the whole start: Data is a Snapshot of another process. If
	// it cannot be adopted, Output.Troubles says why, and nothing has changed.
	Adopt
)

var kindNames = [...]string{
	Packet: "packet", PeerClosed: "peer closed", Loaded: "loaded", Durable: "durable", Applied: "applied",
	Leased: "leased", Tick: "tick", Configure: "configure", StoreAway: "store away", StoreBack: "store back",
	JournalFailed: "journal failed", ReadOnly: "read only", Writable: "writable", RestoreBoard: "restore board", RestoreSession: "restore session", Ready: "ready",
	Announce: "announce", Kick: "kick", Ban: "ban", Unban: "unban", SetBrownout: "brownout", Erase: "erase", Archive: "archive", Purge: "purge",
	Adopt: "adopt",
}

func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindNames) {
		return "unknown"
	}
	return kindNames[k]
}

// Input is one thing that happened. Only the fields of its Kind count. Data and
// what the pointers point to must stay as they are during Step, and longer only
// if a Recorder is told later; Step keeps none of it.
type Input struct {
	Kind     Kind
	Outcome  Outcome
	Sequence wamble.Sequence
	Peer     wamble.Peer
	Data     []byte
	Gate     uint64
	Seq      uint64
	Load     uint64 // Load.ID of the question
	Blocks   []wamble.Block
	Session  *wamble.Session
	Board    *wamble.Board
	Config   *config.Profile
	Word     *Word   // of the host
	Answer   *Answer // what the store had beside Session and Board
}

// Outcome is how a load ended.
type Outcome uint8

// The closed list of outcomes.
const (
	// Found: the Input has it.
	Found Outcome = iota
	// NotFound: the store is sure that there is no such row.
	NotFound
	// Away: the store could not be asked; nothing is known.
	Away
	// Broken: the store could not answer, though it is there.
	Broken
)
