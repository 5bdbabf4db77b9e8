package admin

import (
	"context"
	"fmt"
	"io"

	"wamble/internal/config"
)

// DryRun is what a reload would do.
type DryRun struct {
	Changes  []config.Change `json:"changes"`  // by option
	Profiles []string        `json:"profiles"` // one line for each that begins, ends or is changed
	Refused  []string        `json:"refused"`  // why a reload would be refused; empty if it would not
}

// print writes what a reload would do. Error: ErrRefused if it would be refused.
func (f *DryRun) print(w io.Writer) error {
	lines := []string{}
	for _, c := range f.Changes {
		lines = append(lines, c.String())
	}
	lines = append(lines, f.Profiles...)
	for _, why := range f.Refused {
		lines = append(lines, "a reload would be refused: "+why)
	}
	if len(lines) == 0 {
		lines = append(lines, "nothing would change")
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return err
		}
	}
	if len(f.Refused) > 0 {
		return ErrRefused
	}
	return nil
}

// Effective has the options in effect. Secrets are hidden.
type Effective struct {
	File     string             `json:"file"` // "" without a configuration file
	Server   []config.Setting   `json:"server"`
	Profiles []EffectiveProfile `json:"profiles"` // those that run
	// Reload is what a reload would do now. Mistake is the error in the configuration that
	// would refuse it.
	Reload  *DryRun `json:"reload,omitempty"`
	Mistake string  `json:"mistake,omitempty"`
}

// EffectiveProfile has the options in effect of a profile.
type EffectiveProfile struct {
	Name    string           `json:"name"`
	Base    string           `json:"inherits,omitempty"`
	Store   string           `json:"store"`
	Options []config.Setting `json:"options"`
}

// effective returns the options in effect, and what a reload would change.
func (h *Host) effective(ctx context.Context) Effective {
	e := h.Options()
	if f, err := h.DryRunReload(ctx, false); err != nil {
		e.Mistake = err.Error()
	} else {
		e.Reload = &f
	}
	return e
}
