//go:build !linux

package main

import "syscall"

// likeUnit does nothing: there are no units.
func likeUnit(*syscall.SysProcAttr) {}
