package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPacketRoundTrip sends every packet of the protocol's tests that can be
// decoded through decode and encode.
func TestPacketRoundTrip(t *testing.T) {
	var packets []string
	for _, name := range []string{"original", "ours", "decoder", "rules"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "wire", "testdata", "packets", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		for record := range strings.SplitSeq(string(text), "\n\n") {
			if !strings.Contains(record, "\njson ") {
				continue
			}
			var packet strings.Builder
			for line := range strings.Lines(record) {
				if digits, ok := strings.CutPrefix(line, "hex "); ok {
					packet.WriteString(strings.TrimSpace(digits))
				}
			}
			packets = append(packets, packet.String())
		}
	}
	if len(packets) < 100 {
		t.Fatalf("found only %d packets", len(packets))
	}
	want := strings.Join(packets, "\n") + "\n"
	var objects, digits, errOut bytes.Buffer
	if code := run([]string{"packet", "decode", "-"}, strings.NewReader(want), &objects, &errOut); code != 0 {
		t.Fatalf("decode: exit code %d, %s", code, &errOut)
	}
	if code := run([]string{"packet", "encode"}, &objects, &digits, &errOut); code != 0 {
		t.Fatalf("encode: exit code %d, %s", code, &errOut)
	}
	if got := digits.String(); got != want {
		t.Errorf("decode and encode changed packets\n got %s\nwant %s", got, want)
	}
}
