//go:build unix

package uci

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the process into a new process group. So Ctrl-C in a terminal does not reach
// the engine, and killGroup kills its children too.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(c *exec.Cmd) { syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
