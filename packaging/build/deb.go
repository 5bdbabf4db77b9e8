package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb" // the format
	"github.com/goreleaser/nfpm/v2/files"
)

// deb writes the Debian package of a binary.
func (r *release) deb(binary, arch string) error {
	scratch, err := os.MkdirTemp("", "wamble-deb")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	c := &contents{scratch: scratch, release: r}
	c.file(binary, "/usr/bin/wamble", 0o755)
	// The units are for a binary of the host's own. This one is where packages put it.
	moved := strings.NewReplacer("/usr/local/bin/", "/usr/bin/", "/etc/systemd/system/", "/lib/systemd/system/")
	for _, unit := range []string{"wamble.service", "wamble.socket"} {
		text := moved.Replace(string(c.read(r.path("packaging/systemd", unit))))
		c.text([]byte(text), "/lib/systemd/system/"+unit, 0o644)
	}
	// No conffile: postinst copies it if there is none, so that an upgrade asks nothing.
	c.text(c.output("config", "init", "--out", "-"), "/usr/share/wamble/wamble.conf", 0o644)
	c.file(r.path("packaging/debian/sysctl.conf"), "/usr/lib/sysctl.d/60-wamble.conf", 0o644)
	c.text(c.output("completion", "bash"), "/usr/share/bash-completion/completions/wamble", 0o644)
	c.text(c.output("completion", "zsh"), "/usr/share/zsh/vendor-completions/_wamble", 0o644)
	c.text(c.output("completion", "fish"), "/usr/share/fish/vendor_completions.d/wamble.fish", 0o644)
	c.manuals()
	const docs = "/usr/share/doc/wamble/"
	c.file(r.path("packaging/debian/copyright"), docs+"copyright", 0o644)
	c.text(pack(c.read(r.path("CHANGELOG.md"))), docs+"changelog.gz", 0o644)
	c.file(r.path("docs/*.md"), docs, 0o644)
	for _, examples := range []string{"proxy", "prometheus", "grafana"} {
		c.file(r.path("packaging", examples, "*"), docs+"examples/", 0o644)
	}
	if c.err != nil {
		return c.err
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "wamble", Arch: arch, Platform: "linux", Version: r.version, VersionSchema: "none", MTime: r.time,
		Section: "games", Priority: "optional", Maintainer: "the authors of Wamble <wamble@localhost>",
		License:     "Apache-2.0",
		Description: "massively multiplayer chess server\nAfter every move you are switched to another board of a shared pool.",
		Overridables: nfpm.Overridables{
			Contents: c.list, Depends: []string{"passwd"}, Recommends: []string{"ca-certificates", "systemd"},
			Scripts: nfpm.Scripts{
				PostInstall: r.path("packaging/debian/postinst"), PreRemove: r.path("packaging/debian/prerm"),
				PostRemove: r.path("packaging/debian/postrm"),
			},
		},
	})
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return err
	}
	packager, err := nfpm.Get("deb")
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := packager.Package(info, &out); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("wamble_%s.deb", arch)), out.Bytes(), 0o644)
}

func (r *release) path(parts ...string) string {
	return filepath.Join(append([]string{r.source}, parts...)...)
}

// contents collects the files of a package. The first error stays.
type contents struct {
	release *release
	scratch string
	list    files.Contents
	err     error
}

// file adds the files of a pattern, of which to is the folder if it ends with a slash. Their time is that of the
// release, their owner root.
func (c *contents) file(pattern, to string, mode os.FileMode) {
	c.list = append(c.list, &files.Content{Source: pattern, Destination: to,
		FileInfo: &files.ContentFileInfo{Mode: mode}})
}

// text adds a file with a content of ours.
func (c *contents) text(text []byte, to string, mode os.FileMode) {
	name := filepath.Join(c.scratch, strings.ReplaceAll(to, "/", "_"))
	if err := os.WriteFile(name, text, 0o600); err != nil && c.err == nil {
		c.err = err
	}
	c.file(name, to, mode)
}

func (c *contents) read(name string) []byte {
	text, err := os.ReadFile(name)
	if err != nil && c.err == nil {
		c.err = err
	}
	return text
}

// output is what a command of the binary prints.
func (c *contents) output(args ...string) []byte {
	out, err := exec.Command(c.release.tool, args...).Output()
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("wamble %s: %w", strings.Join(args, " "), err)
	}
	return out
}

// manuals adds the manual pages of all commands.
func (c *contents) manuals() {
	dir := filepath.Join(c.scratch, "man1")
	if err := os.Mkdir(dir, 0o700); err != nil && c.err == nil {
		c.err = err
	}
	c.output("man", dir)
	pages, _ := filepath.Glob(filepath.Join(dir, "*.1"))
	for _, page := range pages {
		c.text(pack(c.read(page)), "/usr/share/man/man1/"+filepath.Base(page)+".gz", 0o644)
	}
}

// pack compresses without a name and a time.
func pack(text []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(text)
	w.Close()
	return out.Bytes()
}
