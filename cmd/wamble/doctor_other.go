//go:build !linux

package main

import "syscall"

// likeUnit does nothing on this system.
func likeUnit(*syscall.SysProcAttr) {}
