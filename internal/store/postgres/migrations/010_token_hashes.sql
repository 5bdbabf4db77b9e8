-- Tokens are kept as hashes: the first 16 bytes of their SHA-256. This changes what
-- the column means: an older program finds no session any more.
UPDATE sessions SET token = substring(sha256(token) FROM 1 FOR 16) WHERE token IS NOT NULL;
