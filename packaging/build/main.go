// Command build makes the packages of a release, without a daemon and without root:
//
//	build DIR
//
// DIR has the binaries that packaging/release made, wamble-linux-ARCH. Beside each it
// writes a Debian package, an image for containers (an OCI layout in a tar file) and a
// list of what is in the binary (CycloneDX), and then SHA256SUMS of everything. The
// same binaries give the same bytes: every time in them is that of the commit,
// SOURCE_DATE_EPOCH.
//
// It is a module of its own, so that what it needs is in nobody's module graph.
package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// release is what is packaged.
type release struct {
	dir     string    // of the binaries, and of what is made of them
	source  string    // the tree
	version string    // of the package
	time    time.Time // of everything in it
	tool    string    // the binary of this machine, which writes its own manual
}

// architectures are those that there may be a binary of.
var architectures = []string{"amd64", "arm64"}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: build DIR")
	}
	r, err := newRelease(args[0], filepath.Join("..", ".."))
	if err != nil {
		return err
	}
	return r.build()
}

// newRelease looks at the binaries in a directory.
func newRelease(dir, source string) (*release, error) {
	r := &release{dir: dir, source: source, tool: filepath.Join(dir, "wamble-linux-"+runtime.GOARCH)}
	epoch, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return nil, errors.New("SOURCE_DATE_EPOCH is not set: it is the time of the commit")
	}
	r.time = time.Unix(epoch, 0).UTC()
	out, err := exec.Command(r.tool, "version").Output()
	if err != nil {
		return nil, fmt.Errorf("ask %s for its version: %w", r.tool, err)
	}
	words := strings.Fields(string(out)) // wamble 0.1.0 commit 1234…
	if len(words) < 4 {
		return nil, fmt.Errorf("%s says its version in other words: %q", r.tool, out)
	}
	// A later commit of one release is a later version.
	r.version = fmt.Sprintf("%s+%s.%.7s", words[1], r.time.Format("20060102.150405"), words[3])
	return r, nil
}

func (r *release) build() error {
	for _, arch := range architectures {
		binary := filepath.Join(r.dir, "wamble-linux-"+arch)
		if _, err := os.Stat(binary); errors.Is(err, os.ErrNotExist) {
			continue
		}
		for what, make := range map[string]func(binary, arch string) error{"Debian package": r.deb, "image": r.image,
			"SBOM": r.sbom} {
			if err := make(binary, arch); err != nil {
				return fmt.Errorf("%s for %s: %w", what, arch, err)
			}
		}
	}
	return r.sums()
}

// sums writes the checksums of all files.
func (r *release) sums() error {
	names, err := filepath.Glob(filepath.Join(r.dir, "wamble*"))
	if err != nil {
		return err
	}
	slices.Sort(names)
	var text strings.Builder
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(data), filepath.Base(name))
	}
	return os.WriteFile(filepath.Join(r.dir, "SHA256SUMS"), []byte(text.String()), 0o644)
}
