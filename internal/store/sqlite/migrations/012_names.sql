-- Players choose names, which are unique without regard to case.
ALTER TABLE players ADD COLUMN renamed_at INTEGER;
CREATE UNIQUE INDEX idx_players_name ON players (handle COLLATE NOCASE);
