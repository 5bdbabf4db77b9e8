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

// checkVar makes 'wamble serve' check instead of serve.
const checkVar = "WAMBLE_HANDOFF_CHECK"

// Protocol is the version of what this package writes and reads. Images of
// different protocols do not hand over to each other.
const Protocol = "1"

// Verdict is what a binary says of itself in check mode.
type Verdict struct {
	Protocol string `json:"protocol"`
	Version  string `json:"version"`
	// Stores name where each profile would keep its games.
	Stores map[string]string `json:"stores,omitempty"`
	// Shards is how many each profile would have; nil from a binary that does not know
	// them.
	Shards map[string]int `json:"shards,omitempty"`
	// Journal names where it would keep the journal; "" from a binary that does not
	// tell.
	Journal string `json:"journal,omitempty"`
	// Listeners are where its profiles would listen; none from a binary that does
	// not tell. Admin is the address of its admin listener, "" without one.
	Listeners []Listener `json:"listeners,omitempty"`
	Admin     string     `json:"admin,omitempty"`
	// Migrations are what it would do to the stores when it serves.
	Migrations []Migration `json:"migrations,omitempty"`
	Notes      []string    `json:"notes,omitempty"` // what could not be checked
	// Ahead says that it can read a state of which a part was written ahead.
	Ahead bool `json:"ahead,omitempty"`
}

// Migration is a change of a store's schema that is to come.
type Migration struct {
	Store    string `json:"store"`
	Name     string `json:"name"`
	Additive bool   `json:"additive"` // an older binary could go on with the store
}

func (m Migration) String() string {
	if m.Additive {
		return fmt.Sprintf("%s: migration %s", m.Store, m.Name)
	}
	return fmt.Sprintf("%s: migration %s, after which an older binary cannot use it", m.Store, m.Name)
}

// Listener is where a profile would listen. Port 0 is any.
type Listener struct {
	Profile string     `json:"profile"`
	Address netip.Addr `json:"address"`
	UDP     uint16     `json:"udp"`
	NoUDP   bool       `json:"no_udp,omitempty"`
	TCP     uint16     `json:"tcp"`
}

// Checking reports whether this process is to check and not to serve.
func Checking() bool { return os.Getenv(checkVar) != "" }

// maxVerdict bounds what is read of a binary in check mode.
const maxVerdict = 64 << 10

// checkTime is how long a check may take.
const checkTime = time.Minute

// Check runs a binary with the arguments of this process, the first of which is
// its name, in check mode: it reads its configuration, and looks at the stores. An error says why it should not be
// handed over to.
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

// Print says the verdict of this binary, for Check.
func (v Verdict) Print() error {
	v.Protocol, v.Ahead = Protocol, true
	return json.NewEncoder(os.Stdout).Encode(v)
}

// bounded keeps the first bytes that are written to it.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if room := maxVerdict - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(len(p), room)])
	}
	return len(p), nil
}
