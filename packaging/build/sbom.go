package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

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
	release := strings.TrimPrefix(info.GoVersion, "go")
	parts := []cdx.Component{part(cdx.ComponentTypePlatform, "go", release, "pkg:golang/stdlib")}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		parts = append(parts, part(cdx.ComponentTypeLibrary, m.Path, m.Version, "pkg:golang/"+m.Path))
	}
	npm, err := r.npm()
	if err != nil {
		return err
	}
	parts = append(parts, npm...)
	slices.SortFunc(parts, func(a, b cdx.Component) int { return strings.Compare(a.PackageURL, b.PackageURL) })
	whole := part(cdx.ComponentTypeApplication, "wamble", r.version, "pkg:generic/wamble")
	whole.PackageURL += "?arch=" + arch
	whole.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sha256.Sum256(data))}}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{Timestamp: r.time.Format(time.RFC3339), Component: &whole}
	bom.Components = &parts
	var text bytes.Buffer
	encoder := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true)
	if err := encoder.EncodeVersion(bom, cdx.SpecVersion1_5); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("wamble-linux-%s.cdx.json", arch)), text.Bytes(), 0o644)
}

// part describes a part of a binary. Its package URL is that of the package at its version.
func part(kind cdx.ComponentType, name, version, purl string) cdx.Component {
	return cdx.Component{Type: kind, Name: name, Version: version, PackageURL: purl + "@" + version}
}

// npm are the packages that the browser client is made of, not those that make it.
func (r *release) npm() (parts []cdx.Component, err error) {
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
	for path, p := range lock.Packages {
		name, ok := strings.CutPrefix(path, "node_modules/")
		if ok && !p.Dev {
			purl := "pkg:npm/" + strings.Replace(name, "@", "%40", 1)
			parts = append(parts, part(cdx.ComponentTypeLibrary, name, p.Version, purl))
		}
	}
	return parts, nil
}
