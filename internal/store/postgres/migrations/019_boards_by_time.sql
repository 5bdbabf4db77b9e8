-- The past of a profile is read by when its boards were made: with several shards their
-- numbers do not rise with time.
CREATE INDEX idx_boards_made ON boards (profile, created_at, id);
