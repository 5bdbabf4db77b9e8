-- The keys of players who were merged into another one: whoever has such a key is that
-- player.
CREATE TABLE merged_keys (
    public_key BLOB PRIMARY KEY CHECK (length(public_key) = 32),
    player_id INTEGER NOT NULL REFERENCES players(id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_merged_keys_player ON merged_keys (player_id);
