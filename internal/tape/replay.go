package tape

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"time"

	"wamble/internal/pack"
	"wamble/internal/profile"
)

var (
	// ErrRecording is returned for bytes that are not a recording.
	ErrRecording = errors.New("not a recording of this version, or damaged")
	// ErrBrokenOff is returned for a recording that ends within a step, as after a crash.
	ErrBrokenOff = errors.New("the recording breaks off")
)

// Difference is the first step whose output differs from the recorded one.
type Difference struct {
	Step   int // from 1
	Now    time.Time
	Inputs []string // names
	Part   string   // "packets", "frames" or "the rest"
	// Recorded and Replayed are the numbers of elements of that part.
	Recorded, Replayed uint64
}

func (d *Difference) String() string {
	inputs := strings.Join(d.Inputs, ", ")
	if inputs == "" {
		inputs = "none"
	}
	return fmt.Sprintf("step %d at %s differs in %s: %d recorded, %d replayed (inputs: %s)",
		d.Step, d.Now.Format(time.RFC3339Nano), d.Part, d.Recorded, d.Replayed, inputs)
}

// Replay makes the profile of a recording again, and replays its inputs. It returns how many steps gave the
// same output, byte for byte, and the first one that did not, or nil. Errors: ErrRecording, ErrBrokenOff,
// or one of r.
func Replay(r io.Reader) (steps int, first *Difference, err error) {
	begin := make([]byte, len(magic))
	if _, err := io.ReadFull(r, begin); err != nil || string(begin) != magic {
		return 0, nil, ErrRecording
	}
	var buf bytes.Buffer
	head, err := readBlock(r, &buf)
	if err == io.EOF {
		err = ErrBrokenOff
	}
	if err != nil {
		return 0, nil, err
	}
	var o profile.Options
	if json.Unmarshal(head, &o) != nil || o.Config == nil {
		return 0, nil, ErrRecording
	}
	re := replayer{p: profile.New(o), digest: newDigester()}
	for {
		block, err := readBlock(r, &buf)
		if err == io.EOF {
			return steps, nil, nil
		}
		if err != nil {
			return steps, nil, err
		}
		d, err := re.step(block)
		if d != nil {
			d.Step = steps + 1
		}
		if d != nil || err != nil {
			return steps, d, err
		}
		steps++
	}
}

// readBlock returns the payload of the next block, valid until the next call. At the end the error is
// io.EOF.
func readBlock(r io.Reader, buf *bytes.Buffer) ([]byte, error) {
	var header [blockHeader]byte
	if _, err := io.ReadFull(r, header[:]); err == io.ErrUnexpectedEOF {
		return nil, ErrBrokenOff
	} else if err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(header[:])
	if n > maxBlock {
		return nil, ErrRecording
	}
	buf.Reset()
	if _, err := io.CopyN(buf, r, int64(n)); err == io.EOF {
		return nil, ErrBrokenOff
	} else if err != nil {
		return nil, err
	}
	if crc32.Checksum(buf.Bytes(), castagnoli) != binary.LittleEndian.Uint32(header[4:]) {
		return nil, ErrRecording
	}
	return buf.Bytes(), nil
}

// replayer gives a profile the inputs of a recording.
type replayer struct {
	p      *profile.Profile
	out    profile.Output
	inputs []profile.Input
	digest digester
}

func (re *replayer) step(block []byte) (*Difference, error) {
	r := pack.NewReader(block)
	now := time.Unix(0, r.Int()).UTC()
	re.inputs = re.inputs[:0]
	for n := r.Uint(); n > 0 && !r.Bad(); n-- {
		re.inputs = append(re.inputs, profile.ReadInput(&r))
	}
	want := readDigest(&r)
	if !r.Ended() {
		return nil, ErrRecording
	}
	re.p.Step(now, re.inputs, &re.out)
	got := re.digest.of(&re.out)
	for _, part := range []struct {
		name      string
		got, want part
	}{{"packets", got.packets, want.packets}, {"frames", got.frames, want.frames},
		{"the rest", got.other, want.other}} {
		if part.got != part.want {
			d := &Difference{Now: now, Part: part.name, Recorded: part.want.n, Replayed: part.got.n}
			for _, in := range re.inputs {
				d.Inputs = append(d.Inputs, profile.InputName(in))
			}
			return d, nil
		}
	}
	return nil, nil
}
