package profile

import (
	"encoding/json"
	"reflect"

	"wamble"
	"wamble/internal/pack"
)

// Input is one thing that happened: a pointer to one of the types in inputs. What it points to must not
// change during Step, or until it is recorded. Step retains none of it.
type Input interface {
	// apply applies the input to a profile.
	apply(p *Profile, out *Output)
}

// packer is an Input with a binary encoding in recordings, because it is frequent or large. Other inputs
// are recorded as JSON.
type packer interface {
	pack(w *pack.Writer)
	unpack(r *pack.Reader)
}

// Scope is which shards carry out a host's command.
type Scope uint8

// The scopes.
const (
	NoCommand   Scope = iota // the input is not a host's command
	EveryShard               // the shards of all nodes carry it out
	Sanction                 // the same; it holds until it is lifted
	Restriction              // the same; the newest state replaces the one before, whichever node sets it
	StoreChange              // one shard carries it out; the others receive it as store events
	StoreOnly                // one shard carries it out; the others need not know
)

// ScopeOf returns the scope of an input.
func ScopeOf(in Input) Scope { return inputs[rowOf[reflect.TypeOf(in)]].scope }

// Lasts reports whether a command of the scope holds until another one lifts it. The host keeps it, and other
// nodes read it as a note.
func (s Scope) Lasts() bool { return s == Sanction || s == Restriction }

// inputs is the one table of inputs. The number identifies the type in recordings.
var inputs = []struct {
	number byte
	name   string
	make   func() Input
	scope  Scope
}{
	{1, "packet", newInput[Packet], NoCommand},
	{2, "peer closed", newInput[PeerClosed], NoCommand},
	{3, "loaded", newInput[Loaded], NoCommand},
	{4, "durable", newInput[Durable], NoCommand},
	{5, "applied", newInput[Applied], NoCommand},
	{6, "leased", newInput[Leased], NoCommand},
	{7, "tick", newInput[Tick], NoCommand},
	{8, "configure", newInput[Configure], NoCommand},
	{9, "store away", newInput[StoreAway], NoCommand},
	{10, "store back", newInput[StoreBack], NoCommand},
	{11, "journal failed", newInput[JournalFailed], NoCommand},
	{14, "restore board", newInput[RestoreBoard], NoCommand},
	{15, "restore session", newInput[RestoreSession], NoCommand},
	{16, "ready", newInput[Ready], NoCommand},
	{17, "announce", newInput[Announce], EveryShard},
	{18, "kick", newInput[Kick], EveryShard},
	{19, "ban", newInput[Ban], Sanction},
	{20, "unban", newInput[Unban], Sanction},
	{21, "brownout", newInput[SetBrownout], Restriction},
	{22, "erase", newInput[Erase], EveryShard},
	{23, "archive", newInput[Archive], EveryShard},
	{24, "purge", newInput[Purge], StoreOnly},
	{26, "wall clock", newInput[WallClock], NoCommand},
	{27, "news", newInput[StoreEvents], NoCommand},
	{28, "trust", newInput[Trust], StoreChange},
	{29, "revoke", newInput[Revoke], EveryShard},
	{30, "resume slice", newInput[ResumeSlice], NoCommand},
	{31, "resume tail", newInput[ResumeTail], NoCommand},
	{32, "resume end", newInput[ResumeEnd], NoCommand},
	{33, "rename", newInput[Rename], StoreChange},
	{40, "stand", newInput[SetStanding], Restriction},
	{41, "merge", newInput[Merge], StoreChange},
	{35, "world", newInput[ShardCounts], NoCommand},
	{36, "arrive", newInput[Arrive], NoCommand},
	{37, "sights", newInput[BoardViews], NoCommand},
	{38, "ask", newInput[BoardRequest], NoCommand},
	{39, "others", newInput[Others], NoCommand},
	{42, "came", newInput[RemoteNewcomers], NoCommand},
	{43, "hold boards", newInput[FreezeBoards], NoCommand},
	{44, "resume elsewhere", newInput[ResumeOtherProfile], NoCommand},
	{46, "show again", newInput[ResendViews], NoCommand},
}

func newInput[T any, P interface {
	*T
	Input
}]() Input {
	return P(new(T))
}

// rowOf maps an input's type to its row in inputs.
var rowOf = func() map[reflect.Type]int {
	rows := map[reflect.Type]int{}
	for i := range inputs {
		rows[reflect.TypeOf(inputs[i].make())] = i
	}
	return rows
}()

// InputName returns the name of an input's type, such as "peer closed".
func InputName(in Input) string { return inputs[rowOf[reflect.TypeOf(in)]].name }

// AppendInput appends an input to a recording.
func AppendInput(dst []byte, in Input) ([]byte, error) {
	w := pack.Writer(append(dst, inputs[rowOf[reflect.TypeOf(in)]].number))
	if own, ok := in.(packer); ok {
		own.pack(&w)
		return w, nil
	}
	text, err := json.Marshal(in)
	w.Bytes(text)
	return w, err
}

// ReadInput reads what AppendInput wrote. Bytes that are no input make r fail.
func ReadInput(r *pack.Reader) Input {
	number := r.Octet()
	for i := range inputs {
		if inputs[i].number != number {
			continue
		}
		in := inputs[i].make()
		if own, ok := in.(packer); ok {
			own.unpack(r)
		} else {
			r.Must(json.Unmarshal(r.Bytes(), in) == nil)
		}
		return in
	}
	r.Fail()
	return &Tick{}
}

// Tick says only that time has passed, because Output.Next has come.
type Tick struct{}

func (*Tick) apply(*Profile, *Output) {}

// PackPeer appends a peer to a recording or its digest.
func PackPeer(w *pack.Writer, p wamble.Peer) {
	addr, err := p.Addr.MarshalBinary()
	if err != nil {
		panic(err) // MarshalBinary of an address never fails
	}
	w.Bytes(addr)
	w.Uint(p.Place())
}

func unpackPeer(r *pack.Reader) (p wamble.Peer) {
	r.Must(p.Addr.UnmarshalBinary(r.Bytes()) == nil)
	p.SetPlace(r.Uint())
	return p
}
