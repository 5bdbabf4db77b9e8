package mesh

import (
	"fmt"

	"wamble/wire"
)

// Kind is the type of a frame.
type Kind uint8

// The kinds of frames. Their numbers are on the wire and never reused.
const (
	KindPacket      Kind = 1 + iota // packet of a player, to the node that serves them
	KindReply                       // packet to a player, to the node they are connected to
	KindEnded                       // the connection of a player has ended
	KindSubscribe                   // subscribe to the events of a name
	KindUnsubscribe                 // unsubscribe from them
	KindEvent                       // event of a name, the newest of its ID
	KindRequest                     // request with an ID
	KindAnswer                      // answer to the request with this ID
	KindRefusal                     // Data says why the request with this ID is not answered
	KindHangUp                      // the connection of a player is to be closed
	KindLook                        // nodes or holders of partitions have changed in the database
)

// Fields of a frame, in the order in which they are written.
const (
	hasName   = 1 << iota // length 1, bytes
	hasPart               // 1
	hasClient             // length 1, address and port, route 4
	hasID                 // 8
	hasData               // the rest
)

// MaxName bounds the name of a node, a profile, or a request, in bytes.
const MaxName = 63

// MaxData bounds the data of a request, an answer or an event, in bytes.
const MaxData = 240 << 10

// The bounds of an outbox in bytes: for frames that may be lost like datagrams, and for all
// others.
const (
	roomDatagrams = 1 << 20
	roomAll       = 4 << 20
)

// kindInfo is a row of the table of kinds.
type kindInfo struct {
	name   string
	fields int
	data   int  // most bytes of Data
	lossy  bool // without room the frame is lost; otherwise, and for WebSocket clients, the connection ends
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

// info returns the row of a kind; nil if it is unknown.
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
