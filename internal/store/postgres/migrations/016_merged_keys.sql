-- The keys of players who were merged into another one: whoever has such a key is that
-- player.
CREATE TABLE merged_keys (
    public_key BYTEA PRIMARY KEY CHECK (octet_length(public_key) = 32),
    player_id BIGINT NOT NULL REFERENCES players(id) ON DELETE CASCADE
);
CREATE INDEX idx_merged_keys_player ON merged_keys (player_id);
