-- A profile may have several shards: loops that share its players and boards. Each board
-- is in one of them, and has the version with which it was sent there.
ALTER TABLE boards ADD COLUMN shard INTEGER NOT NULL DEFAULT 0;
ALTER TABLE boards ADD COLUMN shard_version BIGINT NOT NULL DEFAULT 0;

-- Boards that were sent to a shard, until it has taken them in.
CREATE TABLE arrivals (
    board_id BIGINT PRIMARY KEY REFERENCES boards(id),
    profile TEXT NOT NULL,
    shard INTEGER NOT NULL,
    version BIGINT NOT NULL
);
CREATE INDEX idx_arrivals ON arrivals (profile, shard);

-- How many shards a profile has; one that is not here has one.
CREATE TABLE worlds (
    profile TEXT PRIMARY KEY,
    shards INTEGER NOT NULL
);
