//go:build proof

package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// elsewhere is a release for all architectures, made as 'make package' does, from another
// directory than that of TestMain: a copy of the tree whose files have other times and modes,
// with another umask and time zone. It is made once.
var elsewhere = sync.OnceValues(func() (dir string, err error) {
	top := filepath.Join(os.Getenv("WAMBLE_PACKAGES"), "in another place")
	dir = filepath.Join(top, "dist")
	if err := copyTree(filepath.Join("..", ".."), top); err != nil {
		return "", err
	}
	c := exec.Command("bash", "-euc", `umask 077; packaging/release "$0"; cd packaging/build; go run . "$0"`, dir)
	c.Dir = top
	c.Env = append(os.Environ(), "COMMIT="+one, "ARCHS="+strings.Join(architectures, " "), "TZ=Asia/Kathmandu")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
})

// copyTree copies the tree, without what is made of it or for it.
func copyTree(from, to string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch name {
		case "bin", "dist", ".git", filepath.Join("web", "node_modules"):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		copied := filepath.Join(to, name)
		if d.IsDir() {
			return os.Mkdir(copied, 0o700)
		}
		info, err := d.Info()
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		long := time.Unix(1_000_000_000, 0)
		return errors.Join(os.WriteFile(copied, data, info.Mode()&0o700), os.Chtimes(copied, long, long))
	})
}

// otherDir is the directory of the release elsewhere.
func otherDir(t *testing.T) string {
	t.Helper()
	dir, err := elsewhere()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func readFile(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestReproducible: what is made in another place has the same bytes.
func TestReproducible(t *testing.T) {
	t.Log("needs minutes and root")
	t.Parallel()
	dir := otherDir(t)
	for _, name := range []string{"wamble-linux-%s", "wamble_%s.deb", "wamble-image-%s.tar",
		"wamble-linux-%s.cdx.json"} {
		name = fmt.Sprintf(name, runtime.GOARCH)
		if !bytes.Equal(readFile(t, packages(1), name), readFile(t, dir, name)) {
			t.Errorf("%s has other bytes", name)
		}
	}
	checkSums(t, dir, 4*len(architectures))
}

// TestArchitectures: packages and images are for the machine that they name, with its
// binary, which needs nothing else, and differ in nothing but that.
func TestArchitectures(t *testing.T) {
	t.Log("needs minutes and root")
	t.Parallel()
	dir := otherDir(t)
	var first []packed
	for arch, machine := range map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64} {
		binary := readFile(t, dir, "wamble-linux-"+arch)
		program, err := elf.NewFile(bytes.NewReader(binary))
		if err != nil {
			t.Fatal(err)
		}
		if program.Machine != machine || program.Section(".interp") != nil {
			t.Errorf("the binary for %s is one for %s, or not static", arch, program.Machine)
		}
		list := checkPackage(t, filepath.Join(dir, "wamble_"+arch+".deb"), arch, binary)
		if first == nil {
			first = list
		}
		if len(list) < 50 || !slices.Equal(list, first) {
			t.Errorf("the package for %s has the files\n%v\nand the other one\n%v", arch, list, first)
		}
		checkImage(t, filepath.Join(dir, "wamble-image-"+arch+".tar"), arch, binary)
	}
}

// packed is a file of a package.
type packed struct {
	name, user, group string
	mode              int64
}

// checkPackage looks for a binary in a package, and returns the files.
func checkPackage(t *testing.T, name, arch string, binary []byte) (list []packed) {
	t.Helper()
	if out, err := exec.Command("dpkg-deb", "--field", name, "Architecture").CombinedOutput(); err != nil ||
		strings.TrimSpace(string(out)) != arch {
		t.Errorf("the package for %s says %s, %v", arch, out, err)
	}
	out, err := exec.Command("dpkg-deb", "--fsys-tarfile", name).Output()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	untar(t, bytes.NewReader(out), func(h *tar.Header, content []byte) {
		list = append(list, packed{h.Name, h.Uname, h.Gname, h.Mode})
		found = found || h.Name == "./usr/bin/wamble" && bytes.Equal(content, binary)
	})
	if !found {
		t.Errorf("the package for %s is without its binary", arch)
	}
	return list
}

// checkImage checks an image's binary, its user and its command.
func checkImage(t *testing.T, name, arch string, binary []byte) {
	t.Helper()
	root := t.TempDir()
	image := unpackImage(t, name, root)
	if image.Architecture != arch || image.OS != "linux" {
		t.Errorf("the image for %s is for %s of %s", arch, image.Architecture, image.OS)
	}
	c := image.Config
	if _, volume := c.Volumes["/data"]; !volume || c.User != fmt.Sprintf("%d:%[1]d", imageUser) ||
		!strings.HasPrefix(strings.Join(c.Healthcheck.Test, " "), "CMD /usr/bin/wamble status") {
		t.Errorf("the image for %s says %+v", arch, c)
	}
	if !bytes.Equal(readFile(t, root, "usr/bin/wamble"), binary) {
		t.Errorf("the image for %s has another binary", arch)
	}
	if data, err := os.Stat(filepath.Join(root, "data")); err != nil || data.Sys().(*syscall.Stat_t).Uid != imageUser {
		t.Errorf("/data of the image for %s is not its user's: %v", arch, err)
	}
}
