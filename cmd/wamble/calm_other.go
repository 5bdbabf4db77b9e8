//go:build !linux

package main

// calm is for Linux.
func calm() {}
