-- The boards on which a session has moved, the newest last, 8 bytes each: at most 64.
-- It is written with the row that counts the session's games, and begins with them.
ALTER TABLE sessions ADD COLUMN trail BLOB NOT NULL DEFAULT x'';
