package profile

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"time"
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
const recordingMagic = "wamble recording 4\n"

// maxBlock bounds one block.
const maxBlock = 256 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

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
	head, err := json.Marshal(o)
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
		if b, err = AppendInput(b, inputs[i]); err != nil {
			return fmt.Errorf("record an input, %v: %w", InputName(inputs[i]), err)
		}
	}
	b = r.digest.of(out).append(b)
	r.block = b
	return r.write(b)
}
