package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
)

// component is a part of a binary, as CycloneDX has it.
type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

// sbom writes what is in a binary: the Go release and modules that its linker noted, and
// the packages of the browser client that is embedded.
func (r *release) sbom(binary, arch string) error {
	data, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return err
	}
	parts := []component{{Type: "platform", Name: "go", Version: strings.TrimPrefix(info.GoVersion, "go"), PURL: "pkg:golang/stdlib@" + strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		parts = append(parts, goModule(m))
	}
	npm, err := r.npm()
	if err != nil {
		return err
	}
	parts = append(parts, npm...)
	slices.SortFunc(parts, func(a, b component) int { return strings.Compare(a.PURL, b.PURL) })
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	text, err := json.MarshalIndent(map[string]any{
		"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
		"metadata": map[string]any{
			"timestamp": r.time.Format("2006-01-02T15:04:05Z"),
			"component": component{Type: "application", Name: "wamble", Version: r.version, PURL: "pkg:generic/wamble@" + r.version + "?arch=" + arch, Hashes: []hash{{"SHA-256", sum}}},
		},
		"components": parts,
	}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("wamble-linux-%s.cdx.json", arch)), append(text, '\n'), 0o644)
}

func goModule(m *debug.Module) component {
	if m.Replace != nil {
		m = m.Replace
	}
	return component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version}
}

// npm are the packages that the browser client is made of, not those that make it.
func (r *release) npm() ([]component, error) {
	text, err := os.ReadFile(r.path("web/package-lock.json"))
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]struct {
			Version string
			Dev     bool
		}
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	var parts []component
	for path, p := range lock.Packages {
		name, ok := strings.CutPrefix(path, "node_modules/")
		if ok && !p.Dev {
			parts = append(parts, component{Type: "library", Name: name, Version: p.Version, PURL: "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version})
		}
	}
	return parts, nil
}
