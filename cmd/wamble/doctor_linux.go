package main

import (
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// likeUnit lets a process of another user bind ports below 1024 if the unit of the installed
// server grants that.
func likeUnit(attr *syscall.SysProcAttr) {
	for _, name := range units {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if key, value, _ := strings.Cut(strings.TrimSpace(line), "="); key == "AmbientCapabilities" &&
				strings.Contains(value, "CAP_NET_BIND_SERVICE") {
				attr.AmbientCaps = []uintptr{unix.CAP_NET_BIND_SERVICE}
			}
		}
		return
	}
}
