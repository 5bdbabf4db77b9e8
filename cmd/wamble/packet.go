package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"wamble/wire"
)

func packetCommand() *cobra.Command {
	return parent(&cobra.Command{
		Use:   "packet",
		Short: "Read and write packets of the protocol",
		Long: `Packets of the protocol, as hexadecimal digits and as JSON. The protocol is
described in docs/protocol.md.`,
		Example: `  wamble packet decode 05000100000000000000000000000000000000000000000000000000000000010000
  wamble packet decode - < packets.hex | wamble packet encode`,
	}, packetDecodeCommand(), packetEncodeCommand())
}

func packetDecodeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "decode [HEX...|-]",
		Short: "Print packets as JSON, one object per line",
		Long: `Decode prints each packet as one JSON object. A packet is one argument of
hexadecimal digits, or one word on the standard input when the argument is "-"
or there is none.

Bytes that a receiver ignores are not in the object's fields. Then "raw" has all
bytes of the packet, so that encode gives the same bytes again.

A packet that cannot be decoded is named on the standard error, the others are
printed all the same, and the exit code is 1.`,
		Example: `  wamble packet decode 030001000102030405060708090a0b0c0d0e0f10000000000000002a0000000200050465326534
  wamble packet decode - < packets.hex`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			words, err := packetWords(cmd.InOrStdin(), args)
			if err != nil {
				return err
			}
			return eachPacket(cmd, words, func(word string) ([]byte, error) {
				packet, err := hexBytes(word)
				if err != nil {
					return nil, err
				}
				return wire.FormatJSON(packet)
			})
		},
	}
}

func packetEncodeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "encode",
		Short: "Read packets as JSON and print them in hexadecimal, one per line",
		Long: `Encode reads JSON objects, as decode prints them, from the standard input and
prints each packet as a line of hexadecimal digits.

Only "ctrl" must be there. What is absent is zero or empty, the version is 1,
and the flags EXT_PAYLOAD and FRAGMENT_PAYLOAD follow from the rest. An object
with "raw" gives exactly those bytes, but its other fields must agree with them;
remove "raw" to encode the fields.

An object that is not a packet is named on the standard error, the others are
printed all the same, and the exit code is 1. What is not JSON ends the list.`,
		Example: `  echo '{"ctrl":"GET_LEGAL_MOVES","board_id":42,"seq":7,"payload":{"square":12}}' | wamble packet encode
  wamble packet decode - < packets.hex | wamble packet encode`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return eachPacket(cmd, packetObjects(cmd.InOrStdin()), func(object json.RawMessage) ([]byte, error) {
				packet, err := wire.ParseJSON(object)
				return hex.AppendEncode(nil, packet), err
			})
		},
	}
}

// next returns the next packet. io.EOF ends the list; after another error the rest cannot be
// read.
type next[T any] func() (T, error)

// packetWords returns the arguments one by one, or the words of in if there are none. White
// space inside an argument is ignored.
func packetWords(in io.Reader, args []string) (next[string], error) {
	if len(args) == 0 || len(args) == 1 && args[0] == "-" {
		s := bufio.NewScanner(in)
		s.Split(bufio.ScanWords)
		return func() (string, error) {
			if s.Scan() {
				return s.Text(), nil
			}
			if errors.Is(s.Err(), bufio.ErrTooLong) {
				return "", fmt.Errorf("a packet has at most %d bytes", wire.MaxPacket)
			}
			if s.Err() != nil {
				return "", s.Err()
			}
			return "", io.EOF
		}, nil
	}
	for _, arg := range args {
		if arg == "-" {
			return nil, errors.New(`"-" stands alone: give packets as arguments, or on the standard input`)
		}
	}
	return func() (string, error) {
		if len(args) == 0 {
			return "", io.EOF
		}
		word := strings.Join(strings.Fields(args[0]), "")
		args = args[1:]
		return word, nil
	}, nil
}

// packetObjects returns the JSON values of in one by one.
func packetObjects(in io.Reader) next[json.RawMessage] {
	d := json.NewDecoder(in)
	return func() (object json.RawMessage, err error) {
		err = d.Decode(&object)
		var syntax *json.SyntaxError
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			err = errors.New("the input ends inside of a JSON object")
		case errors.As(err, &syntax):
			err = fmt.Errorf("not JSON at byte %d, and the rest is not read: %w", syntax.Offset, err)
		}
		return object, err
	}
}

// eachPacket prints each converted packet, and to standard error why one cannot be converted.
func eachPacket[T any](cmd *cobra.Command, packets next[T], convert func(T) ([]byte, error)) error {
	var failed error
	for i := 1; ; i++ {
		packet, err := packets()
		if err == io.EOF {
			break
		}
		var text []byte
		stop := err != nil
		if !stop {
			text, err = convert(packet)
		}
		if err != nil {
			failed = exitError(1)
			fmt.Fprintf(cmd.ErrOrStderr(), "wamble: packet %d: %v\n", i, err)
			if stop {
				break
			}
			continue
		}
		if _, err := cmd.OutOrStdout().Write(append(text, '\n')); err != nil {
			return err
		}
	}
	return failed
}
