//go:build proof

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/v1"
)

// The commits that are packaged.
var one, two = strings.Repeat("1", 40), strings.Repeat("2", 40)

// inside is set in a child process with namespaces of its own.
const inside = "WAMBLE_PACKAGE_TEST"

// TestMain builds a release once, and the package of a later one.
func TestMain(m *testing.M) {
	if os.Getenv(inside) != "" {
		os.Exit(m.Run())
	}
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "wamble-packages")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("WAMBLE_PACKAGES", dir)
	binary := filepath.Join(packages(1), "wamble-linux-"+runtime.GOARCH)
	build := exec.Command(filepath.Join("..", "release"), packages(1))
	build.Stderr = os.Stderr
	build.Env = append(os.Environ(), "COMMIT="+one, "ARCHS="+runtime.GOARCH)
	if err := build.Run(); err != nil {
		panic(err)
	}
	os.Setenv("SOURCE_DATE_EPOCH", "1800000000")
	if err := run([]string{packages(1)}); err != nil {
		panic(err)
	}
	if err := another(binary); err != nil {
		panic(err)
	}
	pebble := exec.Command("go", "test", "-tags=proof", "-c", "-o", filepath.Join(dir, "authority"), ".")
	pebble.Dir, pebble.Stderr = filepath.Join("..", "acmetest"), os.Stderr
	if err := pebble.Run(); err != nil {
		panic(err)
	}
	return m.Run()
}

// another packages the same binary as that of a later commit.
func another(binary string) error {
	data, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	if err := os.Mkdir(packages(2), 0o755); err != nil {
		return err
	}
	later := filepath.Join(packages(2), filepath.Base(binary))
	if err := os.WriteFile(later, bytes.ReplaceAll(data, []byte(one), []byte(two)), 0o755); err != nil {
		return err
	}
	os.Setenv("SOURCE_DATE_EPOCH", "1800000001")
	r, err := newRelease(packages(2), filepath.Join("..", ".."))
	if err != nil {
		return err
	}
	defer os.Setenv("SOURCE_DATE_EPOCH", "1800000000")
	return r.deb(later, runtime.GOARCH)
}

// packages is the directory of the n-th commit's files.
func packages(n int) string { return filepath.Join(os.Getenv("WAMBLE_PACKAGES"), fmt.Sprint(n)) }

// TestSums: SHA256SUMS has every file of the release, as sha256sum writes it.
func TestSums(t *testing.T) {
	t.Log("needs minutes")
	checkSums(t, packages(1), 4)
}

// checkSums lets sha256sum look at n files.
func checkSums(t *testing.T, dir string, n int) {
	t.Helper()
	c := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil || strings.Count(string(out), ": OK\n") != n {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestPackageContents: what a host looks for is there.
func TestPackageContents(t *testing.T) {
	t.Log("needs minutes and root")
	out, err := exec.Command("dpkg-deb", "--contents",
		filepath.Join(packages(1), "wamble_"+runtime.GOARCH+".deb")).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"./usr/bin/wamble", "./lib/systemd/system/wamble.service", "./lib/systemd/system/wamble.socket",
		"./usr/share/wamble/wamble.conf",
		"./usr/share/man/man1/wamble.1.gz", "./usr/share/man/man1/wamble-runner-salvage.1.gz",
		"./usr/share/bash-completion/completions/wamble",
		"./usr/share/doc/wamble/operations.md", "./usr/share/doc/wamble/examples/haproxy.cfg",
		"./usr/share/doc/wamble/examples/wamble.rules.yml", "./usr/share/doc/wamble/examples/wamble.json",
		"./usr/share/doc/wamble/copyright",
	} {
		if !strings.Contains(string(out), " "+want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
}

// TestSBOM: it names what is in the binary, with versions.
func TestSBOM(t *testing.T) {
	t.Log("needs minutes and root")
	text, err := os.ReadFile(filepath.Join(packages(1), "wamble-linux-"+runtime.GOARCH+".cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	var bom cdx.BOM
	if err := json.Unmarshal(text, &bom); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"stdlib", "github.com/cockroachdb/pebble/v2", "modernc.org/sqlite", "preact"} {
		if !slices.ContainsFunc(*bom.Components, func(c cdx.Component) bool {
			return strings.Contains(c.PackageURL, "/"+want+"@") && c.Version != ""
		}) {
			t.Errorf("%s is missing", want)
		}
	}
}

// TestImageRoots: an image has the certificate authorities where programs look for them,
// those of Let's Encrypt among them.
func TestImageRoots(t *testing.T) {
	t.Log("needs minutes and root")
	root := t.TempDir()
	unpackImage(t, filepath.Join(packages(1), "wamble-image-"+runtime.GOARCH+".tar"), root)
	text, err := os.ReadFile(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil || !c.IsCA {
			t.Fatalf("%v is no authority: %v", c, err)
		}
		names = append(names, c.Subject.CommonName)
	}
	if len(names) < 50 || !slices.Contains(names, "ISRG Root X1") || !slices.Contains(names, "ISRG Root X2") {
		t.Errorf("there are %d: %q", len(names), names)
	}
}

// unpackImage checks a layout blob by blob, and writes the image's files to a directory.
func unpackImage(t *testing.T, archive, to string) (config v1.ConfigFile) {
	t.Helper()
	data, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	blobs := map[string][]byte{}
	untar(t, bytes.NewReader(data), func(h *tar.Header, content []byte) {
		blobs[h.Name] = content
		if sum, ok := strings.CutPrefix(h.Name, "blobs/sha256/"); ok && sum != "" && digest(content).Hex != sum {
			t.Errorf("%s has another digest", h.Name)
		}
	})
	parse := func(name string, v any) {
		t.Helper()
		if err := json.Unmarshal(blobs[name], v); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	var index v1.IndexManifest
	parse("index.json", &index)
	var manifest v1.Manifest
	parse(blobName(index.Manifests[0].Digest), &manifest)
	parse(blobName(manifest.Config.Digest), &config)
	if p := index.Manifests[0].Platform; p == nil || p.Architecture != config.Architecture || p.OS != config.OS {
		t.Errorf("the index says %v, the image %s of %s", p, config.Architecture, config.OS)
	}
	for _, layer := range manifest.Layers {
		plain, err := gzip.NewReader(bytes.NewReader(blobs[blobName(layer.Digest)]))
		if err != nil {
			t.Fatal(err)
		}
		untar(t, plain, func(h *tar.Header, content []byte) {
			name := filepath.Join(to, h.Name)
			var err error
			if h.Typeflag == tar.TypeDir {
				err = os.Mkdir(name, 0o700)
			} else {
				err = os.WriteFile(name, content, 0o600)
			}
			if err == nil {
				err = os.Chown(name, h.Uid, h.Gid)
			}
			if err == nil {
				err = os.Chmod(name, h.FileInfo().Mode())
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	return config
}

func untar(t *testing.T, r io.Reader, each func(h *tar.Header, content []byte)) {
	t.Helper()
	for files := tar.NewReader(r); ; {
		h, err := files.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		each(h, content)
	}
}
