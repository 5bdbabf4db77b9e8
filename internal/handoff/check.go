package handoff

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"time"
)

// checkVar is the environment variable that makes 'wamble serve' check instead of serve.
const checkVar = "WAMBLE_HANDOFF_CHECK"

// Protocol is the version of the formats of this package. Handoffs between binaries of
// different protocols are refused.
const Protocol = "2"

// Verdict is the answer of a binary in check mode.
type Verdict struct {
	Protocol string `json:"protocol"`
	Version  string `json:"version"`
	// Stores names the store of each profile.
	Stores map[string]string `json:"stores,omitempty"`
	// Shards has the number of shards of each profile; nil from an older binary.
	Shards map[string]int `json:"shards,omitempty"`
	// Journal names where the journal would be kept; "" from an older binary.
	Journal string `json:"journal,omitempty"`
	// Listeners has the addresses of the profiles; empty from an older binary. Admin is the
	// address of the admin listener; "" if it is off.
	Listeners []Listener `json:"listeners,omitempty"`
	Admin     string     `json:"admin,omitempty"`
	// Migrations has the pending migrations of the stores.
	Migrations []Migration `json:"migrations,omitempty"`
	Notes      []string    `json:"notes,omitempty"` // for example what could not be checked
}

// Migration is a pending migration of a store's schema.
type Migration struct {
	Store    string `json:"store"`
	Name     string `json:"name"`
	Additive bool   `json:"additive"` // an older binary can still use the store
}

func (m Migration) String() string {
	if m.Additive {
		return fmt.Sprintf("%s: migration %s", m.Store, m.Name)
	}
	return fmt.Sprintf("%s: migration %s, after which an older binary cannot use it", m.Store, m.Name)
}

// Listener has the addresses of a profile. Port 0 means any.
type Listener struct {
	Profile string     `json:"profile"`
	Address netip.Addr `json:"address"`
	UDP     uint16     `json:"udp"`
	NoUDP   bool       `json:"no_udp,omitempty"`
	TCP     uint16     `json:"tcp"`
}

// Checking reports whether this process was started in check mode.
func Checking() bool { return os.Getenv(checkVar) != "" }

// maxVerdict bounds the output of a binary in check mode, in bytes.
const maxVerdict = 64 << 10

// checkTime bounds a check.
const checkTime = time.Minute

// Check runs a binary in check mode, with the arguments of this process, the first of which
// is its name. The binary reads its configuration and queries the stores. An error says why
// it could not take over.
func Check(ctx context.Context, binary string, args []string) (Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary)
	cmd.Args = args
	cmd.Env = append(without(os.Environ()), checkVar+"="+Protocol)
	out, errOut := &bounded{}, &bounded{}
	cmd.Stdout, cmd.Stderr = out, errOut
	cmd.WaitDelay = time.Second
	var v Verdict
	if err := cmd.Run(); err != nil {
		if said := strings.TrimSpace(errOut.String()); said != "" {
			err = errors.New(said)
		}
		return v, fmt.Errorf("the new binary refuses: %w", err)
	}
	if err := json.Unmarshal(out.Bytes(), &v); err != nil || v.Protocol == "" {
		return v, fmt.Errorf("%s is no wamble that can be handed over to", binary)
	}
	if v.Protocol != Protocol {
		return v, fmt.Errorf("the new binary hands over by protocol %s, this one by %s: stop and start the server instead", v.Protocol, Protocol)
	}
	return v, nil
}

// Print writes the verdict of this binary to standard output, for Check.
func (v Verdict) Print() error {
	v.Protocol = Protocol
	return json.NewEncoder(os.Stdout).Encode(v)
}

// bounded stores the first maxVerdict bytes that are written to it.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := maxVerdict - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
