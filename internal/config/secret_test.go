package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestClusterKey: the secret of a cluster is long, and its file for its owner alone. White space
// around it does not matter.
func TestClusterKey(t *testing.T) {
	const secret = "0123456789abcdef0123456789abcdef"
	write := func(text string, mode os.FileMode) string {
		file := filepath.Join(t.TempDir(), "key")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for name, tc := range map[string]struct{ file, want string }{
		"missing":            {filepath.Join(t.TempDir(), "none"), "no such file"},
		"short":              {write(secret[:31]+"\n", 0o600), "31 characters"},
		"group may read":     {write(secret, 0o640), "chmod 0600"},
		"everybody may read": {write(secret, 0o604), "mode 0604"},
		"good":               {write(secret, 0o600), ""},
		"read only":          {write(secret+"\n", 0o400), ""},
	} {
		t.Run(name, func(t *testing.T) {
			key, err := ClusterKey(tc.file)
			if (tc.want == "") != (err == nil) || err != nil &&
				(!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), secret[:8])) {
				t.Fatalf("got %v, want %q", err, tc.want)
			}
			if good, _ := ClusterKey(write(" "+secret+"\n\n", 0o600)); err == nil && key != good || good == [32]byte{} {
				t.Errorf("got the key %x, want %x", key, good)
			}
		})
	}
}
