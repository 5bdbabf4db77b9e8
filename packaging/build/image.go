package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// imageUser runs the server in a container: nobody of the host.
const imageUser = 65532

// Types of the OCI image specification.
const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// descriptor names a blob.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    *platform         `json:"platform,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// healthcheck is what Docker and Podman do to see whether a container serves players.
type healthcheck struct {
	Test        []string
	Interval    time.Duration
	Timeout     time.Duration
	StartPeriod time.Duration
	Retries     int
}

// image writes an image with nothing but the binary and the roots that it trusts: an OCI layout, which is also what
// 'docker load' and 'podman load' take.
func (r *release) image(binary, arch string) error {
	data, err := os.ReadFile(binary)
	if err != nil {
		return err
	}
	var tree bytes.Buffer
	w := tar.NewWriter(&tree)
	add := func(name string, mode int64, owner int, content []byte) {
		h := &tar.Header{Name: name, Mode: mode, Uid: owner, Gid: owner, Size: int64(len(content)), ModTime: r.time, Format: tar.FormatPAX, Typeflag: tar.TypeReg}
		if content == nil {
			h.Typeflag = tar.TypeDir
		}
		w.WriteHeader(h)
		w.Write(content)
	}
	add("data/", 0o700, imageUser, nil)
	add("etc/", 0o755, 0, nil)
	add("etc/passwd", 0o644, 0, []byte(fmt.Sprintf("root:x:0:0::/:\nwamble:x:%d:%[1]d::/data:\n", imageUser)))
	add("etc/ssl/", 0o755, 0, nil)
	add("etc/ssl/certs/", 0o755, 0, nil)
	add("etc/ssl/certs/ca-certificates.crt", 0o644, 0, roots())
	add("tmp/", 0o1777, 0, nil)
	add("usr/", 0o755, 0, nil)
	add("usr/bin/", 0o755, 0, nil)
	add("usr/bin/wamble", 0o755, 0, data)
	if err := w.Close(); err != nil {
		return err
	}
	layout := &layout{time: r.time}
	layer := layout.blob(layerType, pack(tree.Bytes()))
	config := layout.json(configType, map[string]any{
		"created": r.time.Format(time.RFC3339), "architecture": arch, "os": "linux",
		"config": map[string]any{
			"User": fmt.Sprintf("%d:%[1]d", imageUser), "WorkingDir": "/data", "StopSignal": "SIGTERM",
			"Env":        []string{"PATH=/usr/bin", "HOME=/data"},
			"Entrypoint": []string{"/usr/bin/wamble"}, "Cmd": []string{"serve", "--data", "/data"},
			"Volumes":      map[string]any{"/data": struct{}{}},
			"ExposedPorts": map[string]any{"8888/tcp": struct{}{}, "8888/udp": struct{}{}},
			"Healthcheck":  healthcheck{[]string{"CMD", "/usr/bin/wamble", "status", "--data", "/data", "--wait", "3s"}, 30 * time.Second, 5 * time.Second, time.Minute, 3},
			"Labels":       map[string]string{"org.opencontainers.image.title": "wamble", "org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0"},
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{digest(tree.Bytes())}},
		"history": []any{map[string]any{"created": r.time.Format(time.RFC3339), "created_by": "packaging/build"}},
	})
	manifest := layout.json(manifestType, map[string]any{"schemaVersion": 2, "mediaType": manifestType, "config": config, "layers": []descriptor{layer}})
	manifest.Annotations = map[string]string{"org.opencontainers.image.ref.name": "latest", "io.containerd.image.name": "localhost/wamble:latest"}
	manifest.Platform = &platform{arch, "linux"}
	layout.file("index.json", mustJSON(map[string]any{"schemaVersion": 2, "mediaType": indexType, "manifests": []descriptor{manifest}}))
	layout.file("manifest.json", mustJSON([]any{map[string]any{
		"Config": blobName(config.Digest), "Layers": []string{blobName(layer.Digest)}, "RepoTags": []string{"localhost/wamble:latest"},
	}}))
	layout.file("oci-layout", []byte(`{"imageLayoutVersion":"1.0.0"}`))
	out, err := layout.bytes()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dir, fmt.Sprintf("wamble-image-%s.tar", arch)), out, 0o644)
}

// layout is a tar file with an image layout.
type layout struct {
	time time.Time
	out  bytes.Buffer
	w    *tar.Writer
	err  error
}

func (l *layout) file(name string, content []byte) {
	if l.w == nil {
		l.w = tar.NewWriter(&l.out)
	}
	h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(content)), ModTime: l.time, Format: tar.FormatPAX, Typeflag: tar.TypeReg}
	if err := l.w.WriteHeader(h); err != nil && l.err == nil {
		l.err = err
	}
	if _, err := l.w.Write(content); err != nil && l.err == nil {
		l.err = err
	}
}

// blob adds a blob by its digest.
func (l *layout) blob(mediaType string, content []byte) descriptor {
	d := descriptor{MediaType: mediaType, Digest: digest(content), Size: len(content)}
	l.file(blobName(d.Digest), content)
	return d
}

func (l *layout) json(mediaType string, v any) descriptor { return l.blob(mediaType, mustJSON(v)) }

func (l *layout) bytes() ([]byte, error) {
	if err := l.w.Close(); err != nil && l.err == nil {
		l.err = err
	}
	return l.out.Bytes(), l.err
}

func digest(b []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(b)) }

func blobName(digest string) string { return "blobs/sha256/" + digest[len("sha256:"):] }

// mustJSON writes plain values, of which none can fail. Maps are in the order of their keys.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
