-- The indexes of Temporal's visibility store without NULLs. There is one for each search attribute that there may be, and
-- a workflow has a few: of the 74 entries that each write of a record made, most said that it has none. A search by an
-- attribute compares it, which finds no NULL, so an index without them answers it as well; what asks for records without
-- an attribute reads them in the order of their end, by default_idx.
--
-- The names stay, for a later schema may drop an index. It runs after each update of the schema and finds what is new.
-- Each index is a transaction of its own, in which the store is locked. temporal-sql-tool splits the file by keywords.
DO $$
DECLARE
  r RECORD;
BEGIN
  FOR r IN
    SELECT c.relname, a.attname, pg_get_indexdef(c.oid) AS def
    FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[1]
    WHERE i.indrelid = 'executions_visibility'::regclass AND i.indpred IS NULL AND i.indisvalid
      AND NOT i.indisunique AND NOT a.attnotnull
  LOOP
    EXECUTE format('DROP INDEX %I', r.relname);
    EXECUTE r.def || format(' WHERE %I IS NOT NULL', r.attname);
    COMMIT;
  END LOOP;
END $$;
