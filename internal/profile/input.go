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
	// take applies the input to a profile.
	take(p *Profile, out *Output)
}

// packed is an Input with a binary encoding in recordings, because it is frequent or large. Other inputs
// are recorded as JSON.
type packed interface {
	pack(w *pack.Writer)
	unpack(r *pack.Reader)
}

// inputs is the one table of inputs. The number identifies the type in recordings.
var inputs = []struct {
	number byte
	name   string
	make   func() Input
}{
	{1, "packet", blank[Packet]},
	{2, "peer closed", blank[PeerClosed]},
	{3, "loaded", blank[Loaded]},
	{4, "durable", blank[Durable]},
	{5, "applied", blank[Applied]},
	{6, "leased", blank[Leased]},
	{7, "tick", blank[Tick]},
	{8, "configure", blank[Configure]},
	{9, "store away", blank[StoreAway]},
	{10, "store back", blank[StoreBack]},
	{11, "journal failed", blank[JournalFailed]},
	{12, "read only", blank[ReadOnly]},
	{13, "writable", blank[Writable]},
	{14, "restore board", blank[RestoreBoard]},
	{15, "restore session", blank[RestoreSession]},
	{16, "ready", blank[Ready]},
	{17, "announce", blank[Announce]},
	{18, "kick", blank[Kick]},
	{19, "ban", blank[Ban]},
	{20, "unban", blank[Unban]},
	{21, "brownout", blank[SetBrownout]},
	{22, "erase", blank[Erase]},
	{23, "archive", blank[Archive]},
	{24, "purge", blank[Purge]},
	{25, "adopt", blank[Adopt]},
	{26, "wall clock", blank[WallClock]},
	{27, "news", blank[News]},
	{28, "trust", blank[Trust]},
	{29, "revoke", blank[Revoke]},
	{30, "resume slice", blank[ResumeSlice]},
	{31, "resume tail", blank[ResumeTail]},
	{32, "resume end", blank[ResumeEnd]},
	{33, "rename", blank[Rename]},
	{34, "shelve", blank[Shelve]},
	{40, "stand", blank[Stand]},
	{41, "merge", blank[Merge]},
	{35, "world", blank[World]},
	{36, "arrive", blank[Arrive]},
	{37, "sights", blank[Sights]},
	{38, "ask", blank[Ask]},
	{39, "others", blank[Others]},
	{42, "came", blank[Came]},
	{43, "hold boards", blank[HoldBoards]},
	{44, "resume elsewhere", blank[ResumeElsewhere]},
	{46, "show again", blank[ShowAgain]},
}

func blank[T any, P interface {
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
	if own, ok := in.(packed); ok {
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
		if own, ok := in.(packed); ok {
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

func (*Tick) take(*Profile, *Output) {}

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
