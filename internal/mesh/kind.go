package mesh

import (
	"fmt"

	"wamble/wire"
)

// Kind is what a frame is about.
type Kind uint8

// The kinds of frames. They are on the wire: a number is never used again.
const (
	KindPacket      Kind = 1 + iota // of a player, to the node that serves him
	KindReply                       // to a player, to the node whose socket he uses
	KindEnded                       // the connection of a player is gone
	KindSubscribe                   // events of a name are wanted
	KindUnsubscribe                 // no more
	KindEvent                       // of a name: the newest of its ID
	KindRequest                     // to be answered, by its ID
	KindAnswer                      // of the request with this ID
	KindRefusal                     // the same: Data says why there is no answer
	KindHangUp                      // the connection of a player is to end
	KindLook                        // what the database says of nodes and parts has changed
)

// Fields of a frame, in the order in which they are written.
const (
	hasName   = 1 << iota // length 1, bytes
	hasPart               // 1
	hasClient             // length 1, address and port, route 4
	hasID                 // 8
	hasData               // the rest
)

// MaxName bounds the name of a node, of a profile, or of what is asked for.
const MaxName = 63

// MaxData bounds what a request, its answer or an event may say.
const MaxData = 240 << 10

// What may wait for a slow node, in bytes: packets that may be lost like datagrams,
// and all the rest.
const (
	roomDatagrams = 1 << 20
	roomAll       = 4 << 20
)

// kindInfo is a row of the table of kinds.
type kindInfo struct {
	name   string
	fields int
	data   int  // the most bytes of Data
	lossy  bool // one that finds no room is lost; of another kind, or of a WebSocket, the connection ends
}

var kinds = [...]kindInfo{
	KindPacket:      {"packet", hasName | hasPart | hasClient | hasData, wire.MaxPacket, true},
	KindReply:       {"reply", hasName | hasPart | hasClient | hasData, wire.MaxPacket, true},
	KindEnded:       {"ended", hasName | hasPart | hasClient, 0, false},
	KindSubscribe:   {"subscribe", hasName, 0, false},
	KindUnsubscribe: {"unsubscribe", hasName, 0, false},
	KindEvent:       {"event", hasName | hasID | hasData, MaxData, true},
	KindRequest:     {"request", hasName | hasID | hasData, MaxData, false},
	KindAnswer:      {"answer", hasID | hasData, MaxData, false},
	KindRefusal:     {"refusal", hasID | hasData, 1 << 10, false},
	KindHangUp:      {"hang up", hasName | hasPart | hasClient, 0, false},
	KindLook:        {"look", 0, 0, true},
}

// info returns the row of a kind; nil: there is none.
func (k Kind) info() *kindInfo {
	if int(k) >= len(kinds) || kinds[k].name == "" {
		return nil
	}
	return &kinds[k]
}

func (k Kind) String() string {
	if i := k.info(); i != nil {
		return i.name
	}
	return fmt.Sprintf("kind %d", uint8(k))
}
