package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing/fstest"
	"time"

	"github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageUser runs the server in a container: nobody of the host.
const imageUser = 65532

// image writes an image with nothing but the binary and the roots that it trusts: an OCI layout, which is also what
// 'docker load' and 'podman load' take.
func (r *release) image(binary, arch string) error {
	data, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	users := fmt.Sprintf("root:x:0:0::/:\nwamble:x:%d:%[1]d::/data:\n", imageUser)
	tree, err := r.archive(fstest.MapFS{
		"data": {Mode: fs.ModeDir | 0o700,
			Sys: &tar.Header{Uid: imageUser, Gid: imageUser}},
		"etc":                               {Mode: fs.ModeDir | 0o755},
		"etc/passwd":                        {Mode: 0o644, Data: []byte(users)},
		"etc/ssl":                           {Mode: fs.ModeDir | 0o755},
		"etc/ssl/certs":                     {Mode: fs.ModeDir | 0o755},
		"etc/ssl/certs/ca-certificates.crt": {Mode: 0o644, Data: roots()},
		"tmp":                               {Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		"usr":                               {Mode: fs.ModeDir | 0o755},
		"usr/bin":                           {Mode: fs.ModeDir | 0o755},
		"usr/bin/wamble":                    {Mode: 0o755, Data: data},
	})
	if err != nil {
		return err
	}
	files := fstest.MapFS{
		"blobs":        {Mode: fs.ModeDir | 0o755}, // otherwise nobody but root could unpack what is in them
		"blobs/sha256": {Mode: fs.ModeDir | 0o755},
		"oci-layout":   {Mode: 0o644, Data: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
	}
	blob := func(kind types.MediaType, content []byte) v1.Descriptor {
		files[blobName(digest(content))] = &fstest.MapFile{Mode: 0o644, Data: content}
		return v1.Descriptor{MediaType: kind, Digest: digest(content), Size: int64(len(content))}
	}
	layer := blob(types.OCILayer, pack(tree))
	config := blob(types.OCIConfigJSON, mustJSON(r.imageConfig(arch, digest(tree))))
	manifest := blob(types.OCIManifestSchema1, mustJSON(v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, Config: config, Layers: []v1.Descriptor{layer},
	}))
	const name = "localhost/wamble:latest"
	manifest.Annotations = map[string]string{
		"org.opencontainers.image.ref.name": "latest", "io.containerd.image.name": name,
	}
	manifest.Platform = &v1.Platform{Architecture: arch, OS: "linux"}
	files["index.json"] = &fstest.MapFile{Mode: 0o644, Data: mustJSON(v1.IndexManifest{
		SchemaVersion: 2, MediaType: types.OCIImageIndex, Manifests: []v1.Descriptor{manifest},
	})}
	files["manifest.json"] = &fstest.MapFile{Mode: 0o644, Data: mustJSON([]any{map[string]any{
		"Config": blobName(config.Digest), "Layers": []string{blobName(layer.Digest)}, "RepoTags": []string{name},
	}})}
	out, err := r.archive(files)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("wamble-image-%s.tar", arch)), out, 0o644)
}

// imageConfig says how a container of an image runs.
func (r *release) imageConfig(arch string, tree v1.Hash) v1.ConfigFile {
	now := v1.Time{Time: r.time}
	return v1.ConfigFile{
		Created: now, Architecture: arch, OS: "linux",
		RootFS:  v1.RootFS{Type: "layers", DiffIDs: []v1.Hash{tree}},
		History: []v1.History{{Created: now, CreatedBy: "packaging/build"}},
		Config: v1.Config{
			User: fmt.Sprintf("%d:%[1]d", imageUser), WorkingDir: "/data", StopSignal: "SIGTERM",
			Env:        []string{"PATH=/usr/bin", "HOME=/data", "WAMBLE_DATA=/data"},
			Entrypoint: []string{"/usr/bin/wamble"}, Cmd: []string{"serve", "--data", "/data"},
			Volumes:      map[string]struct{}{"/data": {}},
			ExposedPorts: map[string]struct{}{"8888/tcp": {}, "8888/udp": {}},
			Healthcheck: &v1.HealthConfig{
				Test:     []string{"CMD", "/usr/bin/wamble", "status", "--data", "/data", "--wait", "3s"},
				Interval: 30 * time.Second, Timeout: 5 * time.Second, StartPeriod: time.Minute, Retries: 3,
			},
			Labels: map[string]string{
				"org.opencontainers.image.title": "wamble", "org.opencontainers.image.version": r.version,
				"org.opencontainers.image.licenses": "Apache-2.0",
			},
		},
	}
}

// archive makes a tar file. Everything in it has the time of the release.
func (r *release) archive(files fstest.MapFS) ([]byte, error) {
	for _, f := range files {
		f.ModTime = r.time
	}
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	if err := w.AddFS(files); err != nil {
		return nil, err
	}
	err := w.Close()
	return out.Bytes(), err
}

func digest(b []byte) v1.Hash {
	return v1.Hash{Algorithm: "sha256", Hex: fmt.Sprintf("%x", sha256.Sum256(b))}
}

func blobName(digest v1.Hash) string { return "blobs/sha256/" + digest.Hex }

// mustJSON writes plain values, of which none can fail. Maps are in the order of their keys.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
