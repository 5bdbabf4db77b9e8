-- What payouts bring to a season is added once for each player in a statement, not
-- for each row.
CREATE FUNCTION count_seasons() RETURNS TRIGGER AS $$
BEGIN
    INSERT INTO season_scores (who, season, score, games)
        SELECT coalesce(s.player_id, -s.id) AS who, to_char(p.created_at AT TIME ZONE 'UTC', 'YYYYMM')::integer AS month, sum(p.points_awarded), count(*)
        FROM added p JOIN sessions s ON s.id = p.session_id GROUP BY 1, 2
        ON CONFLICT (who, season) DO UPDATE SET score = season_scores.score + excluded.score, games = season_scores.games + excluded.games;
    RETURN NULL;
END;
$$ LANGUAGE plpgsql;
DROP TRIGGER trigger_payouts_season ON payouts;
DROP FUNCTION count_season();
CREATE TRIGGER trigger_payouts_season AFTER INSERT ON payouts REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION count_seasons();
