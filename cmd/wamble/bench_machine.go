package main

import (
	"bytes"
	"os"
	"strconv"
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
