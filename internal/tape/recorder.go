package tape

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"wamble/internal/profile"
)

// magic begins a recording. Its number changes with the format.
const magic = "wamble recording 4\n"

const (
	blockHeader = 8
	maxBlock    = 256 << 20 // bytes
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Recorder records the inputs of a profile for Replay.
type Recorder struct {
	w      io.Writer
	block  []byte
	digest digester
}

// NewRecorder begins the recording of a profile made by profile.New with the same options.
func NewRecorder(w io.Writer, o profile.Options) (*Recorder, error) {
	r := &Recorder{w: w, digest: newDigester()}
	head, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("record the options: %w", err)
	}
	if _, err := io.WriteString(w, magic); err != nil {
		return nil, err
	}
	return r, r.write(append(make([]byte, blockHeader), head...))
}

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

// Step records a step after it was run: its time, its inputs, and a digest of its output.
func (r *Recorder) Step(now time.Time, inputs []profile.Input, out *profile.Output) error {
	b := append(r.block[:0], make([]byte, blockHeader)...)
	b = binary.AppendVarint(b, now.UnixNano())
	b = binary.AppendUvarint(b, uint64(len(inputs)))
	for _, in := range inputs {
		var err error
		if b, err = profile.AppendInput(b, in); err != nil {
			return fmt.Errorf("record an input, %s: %w", profile.InputName(in), err)
		}
	}
	b = r.digest.of(out).append(b)
	r.block = b
	return r.write(b)
}
