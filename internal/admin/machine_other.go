//go:build !linux

package admin

import (
	"errors"
	"net"
)

var errUnsupported = errors.New("not known on this system")

func freeSpace(string) (uint64, error) { return 0, errUnsupported }

func fileLimit() (uint64, error) { return 0, errUnsupported }

func peerCredentials(*net.UnixConn) (string, error) { return "", errUnsupported }

func clockSynced() (bool, error) { return false, errUnsupported }
