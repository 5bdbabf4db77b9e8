package pebblestore

// HoldCross lets Pebble open behind a bridge only when held is closed, or the storage.
func (s *Storage) HoldCross(held <-chan struct{}) {
	s.beforeCross = func(stop <-chan struct{}) {
		select {
		case <-held:
		case <-stop:
		}
	}
}

// SmallBridge makes bridges that a file system in memory syncs soon.
func (s *Storage) SmallBridge() { s.bridgeRoom = 2 * aheadPage }
