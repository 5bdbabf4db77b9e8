package web

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// asset is one file for browsers, plain and compressed.
type asset struct {
	plain, packed []byte
	halves        *halves // of a page that has a middle of its own, instead of plain and packed
	middle        string
	kind          string // Content-Type
	tag           string // ETag
	cache         string // Cache-Control
	status        int
}

// kinds has the media types of a build's files. The system's table is not used, because it
// differs between machines.
var kinds = map[string]string{
	".html":        "text/html; charset=utf-8",
	".js":          "text/javascript; charset=utf-8",
	".css":         "text/css; charset=utf-8",
	".svg":         "image/svg+xml",
	".txt":         "text/plain; charset=utf-8",
	".png":         "image/png",
	".webmanifest": "application/manifest+json",
}

const (
	forever    = "public, max-age=31536000, immutable"
	revalidate = "no-cache"
)

func newAsset(name string, plain, packed []byte) *asset {
	sum := sha256.Sum256(plain)
	a := &asset{plain: plain, packed: packed, kind: kinds[path.Ext(name)], cache: revalidate, status: http.StatusOK}
	a.tag = `"` + hex.EncodeToString(sum[:8]) + `"`
	if strings.Contains(name, "-") {
		a.cache = forever // the name contains a hash
	}
	return a
}

// missing returns the asset as the answer for an address without a file.
func (a *asset) missing() *asset {
	b := *a
	b.status, b.tag = http.StatusNotFound, ""
	return &b
}

// pack compresses what is generated at the start of the server.
func pack(plain []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(plain)
	w.Close()
	return b.Bytes()
}

func (a *asset) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.kind)
	h.Set("Cache-Control", a.cache)
	h.Set("Vary", "Accept-Encoding")
	h.Set("X-Content-Type-Options", "nosniff")
	if a.tag != "" {
		h.Set("ETag", a.tag)
	}
	if a.tag != "" && r.Header.Get("If-None-Match") == a.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	pieces := [][]byte{a.plain}
	packed := strings.Contains(r.Header.Get("Accept-Encoding"), "gzip")
	if packed {
		h.Set("Content-Encoding", "gzip")
		pieces[0] = a.packed
	}
	if a.halves != nil {
		pieces = a.halves.around(a.middle, packed)
	}
	length := 0
	for _, piece := range pieces {
		length += len(piece)
	}
	h.Set("Content-Length", strconv.Itoa(length))
	w.WriteHeader(a.status)
	if r.Method == http.MethodHead {
		return
	}
	for _, piece := range pieces {
		w.Write(piece)
	}
}

// halves are what comes before and after the part of a page that differs between requests. They are compressed
// once: a request costs no more than its own part.
type halves struct {
	before, after             []byte
	packedBefore, packedAfter []byte // the gzip header and blocks; blocks, the last of which ends the stream
	tag                       string
	sum                       uint32 // CRC-32 of before
}

// gzipHeader begins a gzip stream without a name and a time (RFC 1952).
const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

func newHalves(before, after string) *halves {
	s := &halves{before: []byte(before), after: []byte(after), sum: crc32.ChecksumIEEE([]byte(before))}
	var first, last bytes.Buffer
	first.WriteString(gzipHeader)
	w, _ := flate.NewWriter(&first, flate.DefaultCompression) // the level is valid
	w.Write(s.before)
	w.Flush() // ends at a byte
	w.Reset(&last)
	w.Write(s.after)
	w.Close()
	s.packedBefore, s.packedAfter = first.Bytes(), last.Bytes()
	sum := sha256.Sum256([]byte(before + after))
	s.tag = hex.EncodeToString(sum[:8])
	return s
}

// with returns the page with a middle of less than 64 KiB, as a block without compression can have (RFC 1951, 3.2.4).
func (s *halves) with(middle string) *asset {
	sum := sha256.Sum256([]byte(middle))
	return &asset{halves: s, middle: middle, kind: kinds[".html"], cache: revalidate, status: http.StatusOK,
		tag: `"` + s.tag + hex.EncodeToString(sum[:8]) + `"`}
}

// around returns the pieces of the page with a middle. In the compressed page that is a block without compression.
func (s *halves) around(middle string, packed bool) [][]byte {
	if !packed {
		return [][]byte{s.before, []byte(middle), s.after}
	}
	stored := make([]byte, 0, 5+len(middle))
	stored = append(stored, 0)
	stored = binary.LittleEndian.AppendUint16(stored, uint16(len(middle)))
	stored = binary.LittleEndian.AppendUint16(stored, ^uint16(len(middle)))
	stored = append(stored, middle...)
	sum := crc32.Update(crc32.Update(s.sum, crc32.IEEETable, stored[5:]), crc32.IEEETable, s.after)
	end := binary.LittleEndian.AppendUint32(nil, sum)
	end = binary.LittleEndian.AppendUint32(end, uint32(len(s.before)+len(middle)+len(s.after)))
	return [][]byte{s.packedBefore, stored, s.packedAfter, end}
}

// readAssets reads the build of a site. Every file must have its compressed form beside it.
// Without a build it returns no assets.
func readAssets(tree fs.FS, site string) (map[string]*asset, error) {
	assets := map[string]*asset{}
	files, err := fs.Glob(tree, path.Join("dist", site, "*"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".gz") {
			continue
		}
		plain, err := fs.ReadFile(tree, file)
		if err != nil {
			return nil, err
		}
		packed, err := fs.ReadFile(tree, file+".gz")
		if err != nil {
			return nil, fmt.Errorf("the build of the %s is not whole: %w", site, err)
		}
		name := path.Base(file)
		assets[name] = newAsset(name, plain, packed)
	}
	return assets, nil
}
