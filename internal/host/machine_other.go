//go:build !linux

package host

import (
	"errors"
	"net"
)

var errElsewhere = errors.New("not known on this system")

func freeSpace(string) (uint64, error) { return 0, errElsewhere }

func fileLimit() (uint64, error) { return 0, errElsewhere }

func peerCredentials(*net.UnixConn) (string, error) { return "", errElsewhere }

func clockSynced() (bool, error) { return false, errElsewhere }
