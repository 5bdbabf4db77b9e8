package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"wamble/chess"
)

// maxPerftDepth keeps the count within 64 bits; deeper would take years.
const maxPerftDepth = 12

type perftOptions struct {
	fen      string
	chess960 int
	depth    int
	divide   bool
}

func perftCommand() *cobra.Command {
	var o perftOptions
	c := &cobra.Command{
		Use:   "perft --depth D",
		Short: "Count the positions that legal moves reach, to prove and time the rules of chess",
		Long: `Perft counts the leaves of the tree of legal moves, D moves deep, from the
start, from a FEN or from a Chess960 arrangement. The numbers are known for
many positions: a wrong one means a wrong rule. With --divide each first move
is listed with its share. One core is used; the last line is "nodes N".`,
		Example: `  wamble perft --depth 6
  wamble perft --depth 5 --fen 'r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1'
  wamble perft --depth 5 --chess960 518 --divide`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			numbered := cmd.Flags().Changed("chess960")
			if numbered && cmd.Flags().Changed("fen") {
				return errors.New("--fen and --chess960 both say where to start; give one of them")
			}
			p, err := o.position(numbered)
			if err != nil {
				return err
			}
			return o.run(cmd.OutOrStdout(), p)
		},
	}
	c.Flags().IntVar(&o.depth, "depth", 0, fmt.Sprintf("moves to look ahead, 1 to %d", maxPerftDepth))
	c.Flags().StringVar(&o.fen, "fen", chess.StartFEN, "position to start from")
	c.Flags().IntVar(&o.chess960, "chess960", 0,
		"start from the Chess960 arrangement with this Scharnagl number, 0 to 959")
	c.Flags().BoolVar(&o.divide, "divide", false, "list the count of each first move")
	if err := c.MarkFlagRequired("depth"); err != nil {
		panic(err) // the flag is declared above
	}
	return c
}

// position validates the options and returns the position to start from.
func (o *perftOptions) position(numbered bool) (chess.Position, error) {
	if o.depth < 1 || o.depth > maxPerftDepth {
		return chess.Position{}, fmt.Errorf("--depth is from 1 to %d, not %d", maxPerftDepth, o.depth)
	}
	if numbered {
		p, err := chess.Chess960(o.chess960)
		if err != nil {
			return p, fmt.Errorf("--chess960: %w", err)
		}
		return p, nil
	}
	p, err := chess.ParseFEN(o.fen)
	if err != nil {
		return p, fmt.Errorf("--fen: %w", err)
	}
	return p, nil
}

func (o *perftOptions) run(out io.Writer, p chess.Position) error {
	start := time.Now()
	var nodes uint64
	if o.divide {
		for move, below := range p.Divide(o.depth) {
			nodes += below
			if _, err := fmt.Fprintf(out, "%s %d\n", move, below); err != nil {
				return err
			}
		}
	} else {
		nodes = p.Perft(o.depth)
	}
	took := max(time.Since(start), time.Nanosecond)
	_, err := fmt.Fprintf(out, "time %s\nnodes/s %.0f\nnodes %d\n",
		took.Round(time.Microsecond), float64(nodes)/took.Seconds(), nodes)
	return err
}
