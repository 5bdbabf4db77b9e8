package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func runnerFrameCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:     "frame",
		Short:   "Look into the frames that messages and intents travel in",
		Example: "  wamble runner frame decode 4c4d5347…",
	}, runnerFrameDecodeCommand())
}

func runnerFrameDecodeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "decode HEX...",
		Short: "Print LMSG and LINT frames as JSON",
		Long: `Print LMSG and LINT frames, given as hex, as JSON: one value for each frame.
With - frames are read from standard input, separated by white space. A frame
that is refused is named on standard error with the reason; the others are
still printed, and the exit code is 1.`,
		Example: `  wamble runner frame decode 4c4d5347…
  wamble runner frame decode - < frames.txt`,
		Args: someArgs("a frame in hexadecimal, or - for the standard input"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d := frameDecoder{out: json.NewEncoder(cmd.OutOrStdout()), errOut: cmd.ErrOrStderr()}
			d.out.SetIndent("", "  ")
			for _, arg := range args {
				decode := d.decode
				if arg == "-" {
					decode = func(string) error { return d.decodeAll(cmd.InOrStdin()) }
				}
				if err := decode(arg); err != nil {
					return err
				}
			}
			if d.refused {
				return exitError(1)
			}
			return nil
		},
	}
}

// frameDecoder decodes frames and prints them. It counts them for its error messages.
type frameDecoder struct {
	out     *json.Encoder
	errOut  io.Writer
	count   int
	refused bool
}

// maxHex bounds one frame on standard input, in hex digits.
const maxHex = 64 << 20

func (d *frameDecoder) decodeAll(in io.Reader) error {
	words := bufio.NewScanner(in)
	words.Buffer(nil, maxHex)
	words.Split(bufio.ScanWords)
	for words.Scan() {
		if err := d.decode(words.Text()); err != nil {
			return err
		}
	}
	if err := words.Err(); err != nil {
		return fmt.Errorf("frame %d on standard input: %w", d.count+1, err)
	}
	return nil
}

// decode prints one frame. It returns errors of the output; an invalid frame is only
// reported and recorded in refused.
func (d *frameDecoder) decode(digits string) error {
	d.count++
	frame, err := hexBytes(digits)
	var v any
	if err == nil {
		v, err = viewFrame(frame)
	}
	if err != nil {
		d.refused = true
		_, err = fmt.Fprintf(d.errOut, "wamble: frame %d: %v\n", d.count, err)
		return err
	}
	return d.out.Encode(v)
}
