package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

// asset is one file for browsers, plain and compressed.
type asset struct {
	plain, packed []byte
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
	body := a.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		body = a.packed
	}
	h.Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead {
		w.Write(body)
	}
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
