package host

import (
	"context"
	"fmt"
	"io"

	"wamble/internal/config"
)

// Foreseen is what a reload would do.
type Foreseen struct {
	Changes  []config.Change `json:"changes"`  // option by option
	Profiles []string        `json:"profiles"` // that begin, end or do not stay as they are, a line each
	Refused  []string        `json:"refused"`  // why a reload would be refused; empty: it would not
}

// print says it in words.
func (f *Foreseen) print(w io.Writer) error {
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

// Effective is what a server runs with. Secrets are hidden.
type Effective struct {
	File     string             `json:"file"` // "": the defaults
	Server   []config.Setting   `json:"server"`
	Profiles []EffectiveProfile `json:"profiles"` // that run
	// Reload is what a reload would do now, and Mistake why it would be refused at once.
	Reload  *Foreseen `json:"reload,omitempty"`
	Mistake string    `json:"mistake,omitempty"`
}

// EffectiveProfile is what a profile runs with.
type EffectiveProfile struct {
	Name    string           `json:"name"`
	Base    string           `json:"inherits,omitempty"`
	Store   string           `json:"store"`
	Options []config.Setting `json:"options"`
}

// effective is what the server runs with, and what a reload would change of it.
func (h *Host) effective(ctx context.Context) Effective {
	e := h.Options()
	if f, err := h.Foresee(ctx, false); err != nil {
		e.Mistake = err.Error()
	} else {
		e.Reload = &f
	}
	return e
}
