-- Several profiles may share a database: each board belongs to one. Boards of
-- an adopted database go to the profile that migrates it.
ALTER TABLE boards ADD COLUMN profile VARCHAR(128) NOT NULL DEFAULT '';
UPDATE boards SET profile = current_setting('wamble.profile');

-- How far each journal has been applied for each profile. It moves in the
-- transaction that applies, so a batch that comes twice is written once.
CREATE TABLE journal_cursors (
    journal_id BYTEA NOT NULL CHECK (length(journal_id) = 16),
    profile VARCHAR(128) NOT NULL,
    message BIGINT NOT NULL CHECK (message > 0),
    updated_at TIMESTAMPTZ NOT NULL DEFAULT NOW(),
    PRIMARY KEY (journal_id, profile)
);

-- Numbers are leased from the sequences. The original chose those of boards by
-- itself, so its sequences may lag behind.
SELECT setval('players_id_seq', greatest(max(id), (SELECT last_value FROM players_id_seq))) FROM players HAVING max(id) IS NOT NULL;
SELECT setval('sessions_id_seq', greatest(max(id), (SELECT last_value FROM sessions_id_seq))) FROM sessions HAVING max(id) IS NOT NULL;
SELECT setval('boards_id_seq', greatest(max(id), (SELECT last_value FROM boards_id_seq))) FROM boards HAVING max(id) IS NOT NULL;
SELECT setval('predictions_id_seq', greatest(max(id), (SELECT last_value FROM predictions_id_seq))) FROM predictions HAVING max(id) IS NOT NULL;
