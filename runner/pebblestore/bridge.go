package pebblestore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"

	"github.com/cockroachdb/pebble/v2"
)

// A bridge is a file in which a process of a version before 0.9 kept its first commits after a
// handoff, while its Pebble opened for writing. This version writes none. If such a process was
// killed in that moment, Open brings the content of the file into Pebble: each record once,
// because Pebble stores with it up to where it has the file.
//
// The file is, in little endian:
//
//	magic "wamble bridge 1\n", id 16
//	records: length 4, CRC-32C 4 of id, place of the record in the file 8 and batch; the batch
//
// It ends where there is no whole record.
const (
	bridgeFile  = "bridge"
	bridgeMagic = "wamble bridge 1\n"
	bridgeHead  = len(bridgeMagic) + 16
	recordHead  = 8
)

// bridgeKey is the key under which Pebble stores the id of the last bridge and how far it has
// it. No table of the runner begins with these bytes.
var bridgeKey = []byte("\xff\xffbridge")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

type bridgeID [16]byte

func (s *Storage) bridgePath() string { return s.fs.PathJoin(s.dir, bridgeFile) }

// readBridge returns the id of the bridge, its batches after the position from(id), and the
// position of their end. Without a complete bridge file end is 0.
func (s *Storage) readBridge(from func(bridgeID) int) (id bridgeID, batches [][]byte, end int, err error) {
	file, err := s.fs.Open(s.bridgePath())
	if errors.Is(err, fs.ErrNotExist) {
		return id, nil, 0, nil
	}
	if err != nil {
		return id, nil, 0, err
	}
	text, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return id, nil, 0, fmt.Errorf("read the bridge: %w", err)
	}
	if len(text) < bridgeHead || !bytes.HasPrefix(text, []byte(bridgeMagic)) {
		return id, nil, 0, nil
	}
	copy(id[:], text[len(bridgeMagic):])
	end = from(id)
	for {
		batch := recordAt(text, id, end)
		if batch == nil {
			return id, batches, end, nil
		}
		batches = append(batches, batch)
		end += recordHead + len(batch)
	}
}

// recordAt returns the batch of the record at a position, nil if there is no whole one.
func recordAt(text []byte, id bridgeID, at int) []byte {
	if at < bridgeHead || at > len(text)-recordHead {
		return nil
	}
	head, rest := text[at:at+recordHead], text[at+recordHead:]
	size := binary.LittleEndian.Uint32(head)
	if size == 0 || uint64(size) > uint64(len(rest)) {
		return nil
	}
	if sumOf(id, at, rest[:size]) != binary.LittleEndian.Uint32(head[4:]) {
		return nil
	}
	return rest[:size]
}

func sumOf(id bridgeID, at int, batch []byte) uint32 {
	var place [8]byte
	binary.LittleEndian.PutUint64(place[:], uint64(at))
	return crc32.Update(crc32.Update(crc32.Checksum(id[:], castagnoli), castagnoli, place[:]), castagnoli, batch)
}

// bridgeFrom returns the position from which on Pebble lacks the bridge.
func (b *backend) bridgeFrom(id bridgeID) int {
	value, ok, err := b.Get(nil, bridgeKey)
	if err == nil && ok && len(value) == len(id)+8 && bridgeID(value) == id {
		return int(binary.LittleEndian.Uint64(value[len(id):]))
	}
	return bridgeHead
}

// absorb commits batches of a bridge, which end at the position end, in one batch.
func (b *backend) absorb(batches [][]byte, id bridgeID, end int) error {
	if len(batches) == 0 {
		return nil
	}
	return b.await(func() error { // a Pebble that fails may never answer
		all := b.db.NewBatch()
		defer func() { _ = all.Close() }()
		if err := join(all, batches); err != nil {
			return err
		}
		if err := all.Set(bridgeKey, binary.LittleEndian.AppendUint64(id[:], uint64(end)), nil); err != nil {
			return err
		}
		rows := all.Count()
		err := all.Commit(pebble.Sync)
		b.fence.room.addRows(rows)
		return err
	})
}

// join appends batches to another.
func join(to *pebble.Batch, batches [][]byte) error {
	for _, text := range batches {
		var one pebble.Batch
		if err := one.SetRepr(text); err != nil {
			return err
		}
		if err := to.Apply(&one, nil); err != nil {
			return err
		}
	}
	return nil
}

// endBridge writes what a process left in its bridge into Pebble, and removes the file.
func (s *Storage) endBridge(b *backend) error {
	id, batches, end, err := s.readBridge(b.bridgeFrom)
	if err == nil {
		err = b.absorb(batches, id, end)
	}
	if err != nil {
		return fmt.Errorf("bring the bridge to %s: %w", s.dir, err)
	}
	if end == 0 {
		return nil // there is no bridge
	}
	return s.fs.Remove(s.bridgePath()) // if the file reappears, it does no harm: Pebble has its content
}
