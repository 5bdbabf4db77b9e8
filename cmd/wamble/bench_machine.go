package main

import (
	"bytes"
	"os"
	"strconv"
)

// processors is what the processors of this machine did so far, in ticks of all of them.
type processors struct{ all, stolen uint64 }

// readProcessors is all zero where it cannot be known.
func readProcessors() processors {
	stat, _ := os.ReadFile("/proc/stat")
	return processorsOf(stat)
}

// processorsOf reads the first line of /proc/stat: "cpu", then ticks of user, nice, system,
// idle, iowait, irq, softirq and steal. What follows is in these already.
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
		p.stolen = ticks // the last
	}
	return p
}

// stolenSince is which part of their time the host of this virtual machine gave to
// others; -1 where it cannot be known.
func (p processors) stolenSince(before processors) float64 {
	if p.all <= before.all || p.stolen < before.stolen {
		return -1
	}
	return float64(p.stolen-before.stolen) / float64(p.all-before.all)
}
