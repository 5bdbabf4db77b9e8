//go:build unix

package uci

import (
	"os/exec"
	"syscall"
)

// ownGroup gives the process a group of its own: Ctrl-C in a terminal is not for the
// engine, and its children end with it.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(c *exec.Cmd) { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
