-- Several profiles may share a database: each board belongs to one.
ALTER TABLE boards ADD COLUMN profile TEXT NOT NULL DEFAULT '' CHECK (length(profile) <= 128);

-- How far each journal has been applied for each profile. It moves in the
-- transaction that applies, so a batch that comes twice is written once.
CREATE TABLE journal_cursors (
    journal_id BLOB NOT NULL CHECK (length(journal_id) = 16),
    profile TEXT NOT NULL CHECK (length(profile) <= 128),
    message INTEGER NOT NULL CHECK (message > 0),
    updated_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1e6 AS INTEGER)),
    PRIMARY KEY (journal_id, profile)
) STRICT, WITHOUT ROWID;

-- Numbers are leased from here: next is the first that nobody has.
CREATE TABLE sequences (
    name TEXT PRIMARY KEY,
    next INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO sequences (name, next) VALUES ('boards', 1), ('sessions', 1), ('players', 1), ('predictions', 1);
