-- The names that players had before, and until when.
CREATE TABLE former_names (
    player_id BIGINT NOT NULL REFERENCES players(id) ON DELETE CASCADE,
    until_at TIMESTAMPTZ NOT NULL,
    name VARCHAR(63) NOT NULL,
    PRIMARY KEY (player_id, until_at, name)
);

CREATE FUNCTION keep_former_name() RETURNS TRIGGER AS $$
BEGIN
    INSERT INTO former_names (player_id, until_at, name) VALUES (NEW.id, coalesce(NEW.renamed_at, NOW()), OLD.handle) ON CONFLICT DO NOTHING;
    RETURN NULL;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER trigger_players_former_name AFTER UPDATE OF handle ON players FOR EACH ROW
    WHEN (NEW.handle IS DISTINCT FROM OLD.handle) EXECUTE FUNCTION keep_former_name();
