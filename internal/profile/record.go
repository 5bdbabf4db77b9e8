package profile

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"wamble"
	"wamble/internal/config"
	"wamble/internal/pack"
)

// A recording is the magic and then blocks, in little endian:
//
//	length 4, CRC-32C 4, payload
//
// The first payload is what New was given, as JSON. Each other one is a step:
// the time in nanoseconds since 1970, the number of inputs, the inputs, and the
// digest of the output. Numbers are varints, texts begin with their length; what
// is rare (boards, sessions, options) is JSON.
//
// It holds the seed, and so the token of every player: keep it as secret as the
// store.
const recordingMagic = "wamble recording 3\n"

// maxBlock bounds one block.
const maxBlock = 256 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recorded is the first block.
type recorded struct {
	Profile   string
	Options   config.Options
	House     *config.House
	Seed      [32]byte
	Now       int64 // nanoseconds since 1970
	LeaseSize int
	MaxLoads  int
}

// Recorder writes down what a Profile is told, so that Replay can tell it again.
type Recorder struct {
	w      io.Writer
	block  []byte
	digest digester
}

// NewRecorder begins the recording of a profile that New makes of the same
// options.
func NewRecorder(w io.Writer, o Options) (*Recorder, error) {
	r := &Recorder{w: w, digest: newDigester()}
	head, err := json.Marshal(recorded{
		Profile: o.Config.Name, Options: o.Config.Options, House: o.Config.House, Seed: o.Seed, Now: o.Now.UnixNano(),
		LeaseSize: o.LeaseSize, MaxLoads: o.MaxLoads,
	})
	if err != nil {
		return nil, fmt.Errorf("record the options: %w", err)
	}
	if _, err := io.WriteString(w, recordingMagic); err != nil {
		return nil, err
	}
	return r, r.write(append(make([]byte, blockHeader), head...))
}

const blockHeader = 8

// write completes a block, whose header is left free, and writes it.
func (r *Recorder) write(block []byte) error {
	payload := block[blockHeader:]
	if len(payload) > maxBlock {
		return fmt.Errorf("a step of %d bytes is too large to be recorded", len(payload))
	}
	binary.LittleEndian.PutUint32(block, uint32(len(payload)))
	binary.LittleEndian.PutUint32(block[4:], crc32.Checksum(payload, castagnoli))
	_, err := r.w.Write(block)
	return err
}

// Step records a step after it was run: its time, its inputs, and a digest of
// what came of it.
func (r *Recorder) Step(now time.Time, inputs []Input, out *Output) error {
	b := append(r.block[:0], make([]byte, blockHeader)...)
	b = binary.AppendVarint(b, now.UnixNano())
	b = binary.AppendUvarint(b, uint64(len(inputs)))
	for i := range inputs {
		var err error
		if b, err = appendInput(b, &inputs[i]); err != nil {
			return fmt.Errorf("record an input, %v: %w", inputs[i].Kind, err)
		}
	}
	b = r.digest.of(out).append(b)
	r.block = b
	return r.write(b)
}

func appendInput(b []byte, in *Input) ([]byte, error) {
	b = append(b, byte(in.Kind))
	switch in.Kind {
	case Packet:
		return appendText(appendPeer(b, in.Peer), in.Data), nil
	case PeerClosed:
		return appendPeer(b, in.Peer), nil
	case Loaded:
		b = append(binary.AppendUvarint(b, in.Load), byte(in.Outcome))
		var err error
		if b, err = appendJSON(b, in.Session); err != nil {
			return b, err
		}
		if b, err = appendJSON(b, in.Board); err != nil {
			return b, err
		}
		return appendJSON(b, in.Answer)
	case Durable:
		return binary.AppendUvarint(binary.AppendUvarint(b, in.Gate), in.Seq), nil
	case Applied:
		return binary.AppendUvarint(b, in.Seq), nil
	case Leased:
		b = binary.AppendUvarint(append(b, byte(in.Sequence)), uint64(len(in.Blocks)))
		for _, block := range in.Blocks {
			b = binary.AppendVarint(binary.AppendVarint(b, block.First), block.Count)
		}
		return b, nil
	case Configure:
		return appendJSON(b, &recorded{Profile: in.Config.Name, Options: in.Config.Options, House: in.Config.House})
	case RestoreBoard:
		b, err := appendJSON(b, in.Board)
		if err != nil {
			return b, err
		}
		return appendJSON(b, in.Answer)
	case RestoreSession:
		b, err := appendJSON(b, in.Session)
		if err != nil {
			return b, err
		}
		return appendJSON(b, in.Answer)
	case Announce, Kick, Ban, Unban, SetBrownout, Erase, Archive:
		return appendJSON(b, in.Word)
	case Adopt:
		return appendText(b, in.Data), nil
	}
	return b, nil
}

func appendText(b, text []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func appendPeer(b []byte, p wamble.Peer) []byte {
	addr, err := p.Addr.MarshalBinary()
	if err != nil {
		panic(err) // it has no error to give
	}
	return binary.AppendUvarint(appendText(b, addr), uint64(p.Route))
}

func appendJSON(b []byte, v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return appendText(b, text), err
}

// inputReader reads what appendInput wrote.
type inputReader struct{ pack.Reader }

func (r *inputReader) peer() wamble.Peer {
	var p wamble.Peer
	r.Must(p.Addr.UnmarshalBinary(r.Bytes()) == nil)
	p.Route = r.Uint32()
	return p
}

// object reads JSON; null gives nil.
func object[T any](r *inputReader) *T {
	var v *T
	r.Must(json.Unmarshal(r.Bytes(), &v) == nil)
	return v
}

// must is object where there has to be one.
func must[T any](r *inputReader) *T {
	v := object[T](r)
	if v == nil {
		r.Fail()
		v = new(T)
	}
	return v
}

func (r *inputReader) input() Input {
	in := Input{Kind: Kind(r.Octet())}
	switch in.Kind {
	case Packet:
		in.Peer, in.Data = r.peer(), r.Bytes()
	case PeerClosed:
		in.Peer = r.peer()
	case Loaded:
		in.Load, in.Outcome = r.Uint(), Outcome(r.Octet())
		in.Session, in.Board = object[wamble.Session](r), object[wamble.Board](r)
		in.Answer = object[Answer](r)
	case Durable:
		in.Gate, in.Seq = r.Uint(), r.Uint()
	case Applied:
		in.Seq = r.Uint()
	case Leased:
		in.Sequence = wamble.Sequence(r.Octet())
		for n := r.Uint(); n > 0 && !r.Bad(); n-- {
			in.Blocks = append(in.Blocks, wamble.Block{First: r.Int(), Count: r.Int()})
		}
		r.Must(int(in.Sequence) < len(wamble.Sequences()))
	case Configure:
		c := must[recorded](r)
		in.Config = &config.Profile{Name: c.Profile, Options: c.Options, House: c.House}
	case RestoreBoard:
		in.Board = must[wamble.Board](r)
		in.Answer = object[Answer](r)
	case RestoreSession:
		in.Session = must[wamble.Session](r)
		in.Answer = object[Answer](r)
	case Announce, Kick, Ban, Unban, SetBrownout, Erase, Archive:
		in.Word = object[Word](r)
	case Adopt:
		in.Data = r.Bytes()
	}
	r.Must(in.Kind.String() != "unknown")
	return in
}
