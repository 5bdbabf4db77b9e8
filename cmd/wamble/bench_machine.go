package main

import (
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"wamble/internal/loader"
)

// processors has the time of all processors of this machine so far, in ticks.
type processors struct{ all, stolen uint64 }

// readProcessors returns the times in /proc/stat; zero if they are not known.
func readProcessors() processors {
	stat, _ := os.ReadFile("/proc/stat")
	return processorsOf(stat)
}

// processorsOf parses the first line of /proc/stat: "cpu", then ticks of user, nice, system,
// idle, iowait, irq, softirq and steal. Later fields are included in these.
func processorsOf(stat []byte) (p processors) {
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	fields := bytes.Fields(line)
	if len(fields) < 9 || string(fields[0]) != "cpu" {
		return processors{}
	}
	for _, field := range fields[1:9] {
		ticks, err := strconv.ParseUint(string(field), 10, 64)
		if err != nil {
			return processors{}
		}
		p.all += ticks
		p.stolen = ticks // steal is the last
	}
	return p
}

// stolenSince returns the share of the processors' time that the host of this virtual machine
// gave to others; -1 if it is not known.
func (p processors) stolenSince(before processors) float64 {
	if p.all <= before.all || p.stolen < before.stolen {
		return -1
	}
	return float64(p.stolen-before.stolen) / float64(p.all-before.all)
}

func benchEchoCommand() *cobra.Command {
	var keep string
	cmd := &cobra.Command{
		Use:   "echo",
		Short: "Serve the bare echo that bench compares with, until standard input ends",
		Long: `Echo answers moves with the packets of a server and knows nothing of chess. Bench
starts it by itself; it prints its address and ends with its standard input.`,
		Example: "  wamble bench echo",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var log *os.File
			if keep != "" {
				var err error
				if log, err = os.OpenFile(keep, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err != nil {
					return err
				}
				defer log.Close()
			}
			e, err := loader.OpenEcho(netip.AddrPortFrom(netip.IPv6Unspecified(), 0), log)
			if err != nil {
				return err
			}
			failed := make(chan error, 1)
			go func() { failed <- e.Serve() }()
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "echo on udp://%s\n", reachable(e.Addr())); err != nil {
				return err
			}
			io.Copy(io.Discard, cmd.InOrStdin())
			e.Close()
			<-failed // the error of closing it
			return nil
		},
	}
	cmd.Flags().StringVar(&keep, "keep", "", "append what was asked to this `file`, and sync it before each answer")
	return cmd
}
