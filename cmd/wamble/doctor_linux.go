package main

import (
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// units has the possible paths of the installed server's unit; the first one is used.
var units = []string{"/etc/systemd/system/wamble.service", "/lib/systemd/system/wamble.service"}

// likeUnit lets a process of another user bind ports below 1024 if the unit of the installed
// server grants that.
func likeUnit(attr *syscall.SysProcAttr) {
	for _, name := range units {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if key, value, _ := strings.Cut(strings.TrimSpace(line), "="); key == "AmbientCapabilities" && strings.Contains(value, "CAP_NET_BIND_SERVICE") {
				attr.AmbientCaps = []uintptr{unix.CAP_NET_BIND_SERVICE}
			}
		}
		return
	}
}
