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

// inputs is the one table of inputs. The number identifies the type in recordings.
var inputs = []struct {
	number byte
	name   string
	make   func() Input
}{
	{1, "packet", newInput[Packet]},
	{2, "peer closed", newInput[PeerClosed]},
	{3, "loaded", newInput[Loaded]},
	{4, "durable", newInput[Durable]},
	{5, "applied", newInput[Applied]},
	{6, "leased", newInput[Leased]},
	{7, "tick", newInput[Tick]},
	{8, "configure", newInput[Configure]},
	{9, "store away", newInput[StoreAway]},
	{10, "store back", newInput[StoreBack]},
	{11, "journal failed", newInput[JournalFailed]},
	{12, "read only", newInput[ReadOnly]},
	{13, "writable", newInput[Writable]},
	{14, "restore board", newInput[RestoreBoard]},
	{15, "restore session", newInput[RestoreSession]},
	{16, "ready", newInput[Ready]},
	{17, "announce", newInput[Announce]},
	{18, "kick", newInput[Kick]},
	{19, "ban", newInput[Ban]},
	{20, "unban", newInput[Unban]},
	{21, "brownout", newInput[SetBrownout]},
	{22, "erase", newInput[Erase]},
	{23, "archive", newInput[Archive]},
	{24, "purge", newInput[Purge]},
	{25, "adopt", newInput[Adopt]},
	{26, "wall clock", newInput[WallClock]},
	{27, "news", newInput[StoreEvents]},
	{28, "trust", newInput[Trust]},
	{29, "revoke", newInput[Revoke]},
	{30, "resume slice", newInput[ResumeSlice]},
	{31, "resume tail", newInput[ResumeTail]},
	{32, "resume end", newInput[ResumeEnd]},
	{33, "rename", newInput[Rename]},
	{34, "shelve", newInput[Shelve]},
	{40, "stand", newInput[SetStanding]},
	{41, "merge", newInput[Merge]},
	{35, "world", newInput[ShardCounts]},
	{36, "arrive", newInput[Arrive]},
	{37, "sights", newInput[BoardViews]},
	{38, "ask", newInput[BoardRequest]},
	{39, "others", newInput[Others]},
	{42, "came", newInput[RemoteNewcomers]},
	{43, "hold boards", newInput[FreezeBoards]},
	{44, "resume elsewhere", newInput[ResumeOtherProfile]},
	{46, "show again", newInput[ResendViews]},
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
