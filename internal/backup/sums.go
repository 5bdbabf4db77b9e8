package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// File is a file of a complete backup.
type File struct {
	Name string `json:"name"` // within the backup, with slashes
	Size int64  `json:"size"`
	Sum  string `json:"sha256"` // in hex
}

// ErrChanged is returned when a backup does not have the bytes that it was made with.
var ErrChanged = errors.New("it has changed since it was made")

// sumFiles returns the files of a backup without its manifest, ordered by name.
func sumFiles(ctx context.Context, files fs.FS) (list []File, err error) {
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case d.IsDir() || name == manifestName || name == manifestName+unwritten:
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is no regular file", name)
		}
		f, err := files.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		h := sha256.New()
		n, err := io.Copy(h, f)
		list = append(list, File{name, n, hex.EncodeToString(h.Sum(nil))})
		return err
	})
	return list, err
}

// hasSums reports whether the manifest has sums of the files. Backups of older versions have none.
func (m *Manifest) hasSums() bool { return m.Files != nil }

// checkFiles compares the files of a backup with its manifest, if that has sums. Errors: ErrChanged.
func (m *Manifest) checkFiles(ctx context.Context, files fs.FS) error {
	if !m.hasSums() {
		return nil
	}
	found, err := sumFiles(ctx, files)
	if err != nil {
		return err
	}
	var wrong []string
	is := map[string]File{}
	for _, f := range found {
		is[f.Name] = f
	}
	for _, want := range m.Files {
		switch got, ok := is[want.Name]; {
		case !ok:
			wrong = append(wrong, want.Name+" is missing")
		case got.Size != want.Size:
			wrong = append(wrong, fmt.Sprintf("%s has %d bytes instead of %d", want.Name, got.Size, want.Size))
		case got.Sum != want.Sum:
			wrong = append(wrong, want.Name+" has other bytes")
		}
		delete(is, want.Name)
	}
	for _, f := range found {
		if _, extra := is[f.Name]; extra {
			wrong = append(wrong, f.Name+" does not belong to it")
		}
	}
	if n := len(wrong); n > mostNamed {
		wrong = append(wrong[:mostNamed], fmt.Sprintf("and %d more", n-mostNamed))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%w: %s\nTake another backup. If there is none: without \"files\" and \"sum\" in its %s "+
			"it is restored unchecked", ErrChanged, strings.Join(wrong, "; "), manifestName)
	}
	return nil
}

// Checked says what Restore has checked of the bytes of a backup.
func (m *Manifest) Checked() string {
	if !m.hasSums() {
		return "it is of an older wamble and has no sums: if bits in it have changed, that may not be found"
	}
	return fmt.Sprintf("its %d files have the SHA-256 that its %s says, and none is missing or extra", len(m.Files),
		manifestName)
}

// sealed returns the text of a manifest with its own sum: that of the text in which the sum is empty.
func (m Manifest) sealed() ([]byte, error) {
	m.Sum = ""
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	return replaceLast(text, sumField(""), sumField(hexSum(text))), nil
}

// checkSeal checks the text of a manifest against its sum. A manifest of an older version has none.
func (m *Manifest) checkSeal(text []byte) error {
	if m.Sum == "" && !m.hasSums() {
		return nil
	}
	if hexSum(replaceLast(text, sumField(m.Sum), sumField(""))) != m.Sum {
		return ErrChanged
	}
	return nil
}

func sumField(sum string) []byte { return fmt.Appendf(nil, "%q: %q", "sum", sum) }

func hexSum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// replaceLast replaces the last occurrence of old.
func replaceLast(text, old, by []byte) []byte {
	at := bytes.LastIndex(text, old)
	if at < 0 {
		return text
	}
	return append(append(bytes.Clone(text[:at]), by...), text[at+len(old):]...)
}
