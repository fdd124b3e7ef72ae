-- +goose Up
-- The functions of two indexes of listings, with the results that they had, for less: each listing that is saved calls
-- them. Postgres plans the body of a function in SQL again for each statement, and that of one in PL/pgSQL once a session.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION listing_traits(details jsonb) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
    RETURN array_to_tsvector(array_remove(ARRAY[
        CASE WHEN details->'pets'->>'policy' IN ('yes', 'limited')
            OR details->'pets'->>'cats' IN ('yes', 'conditional')
            OR details->'pets'->>'dogs' IN ('yes', 'small', 'conditional') THEN 'pets_yes' END,
        CASE WHEN coalesce(details->'pets'->>'cats', details->'pets'->>'policy') IN ('yes', 'conditional')
            THEN 'pets_cats' END,
        CASE WHEN coalesce(details->'pets'->>'dogs', details->'pets'->>'policy') IN ('yes', 'small', 'conditional')
            THEN 'pets_dogs' END,
        CASE WHEN details->'pets'->>'policy' = 'no' THEN 'pets_no' END,
        'furnished_' || (details->>'furnished'),
        CASE WHEN details->'parking'->>'offer' IN ('included', 'available', 'extra') THEN 'parking_yes' END,
        'parking_' || (details->'parking'->>'offer'),
        'parking_' || (details->'parking'->>'type'),
        'lease_' || (details->>'lease')
    ], NULL));
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION listing_available(details jsonb) RETURNS date
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    scraped date;
    part text[];
    year int;
    day  date;
BEGIN
    IF details->>'available' IS NULL THEN -- most adverts
        RETURN NULL;
    END IF;
    scraped := make_date(substr(details->>'scraped_at', 1, 4)::int, substr(details->>'scraped_at', 6, 2)::int,
        substr(details->>'scraped_at', 9, 2)::int);
    year := extract(year FROM scraped);
    IF details->>'available' = 'now' THEN
        RETURN scraped;
    END IF;
    part := regexp_match(details->>'available', '^(?:<=)?(?:([1-9][0-9]{3})-)?(0[1-9]|1[0-2])(?:-(0[1-9]|[12][0-9]|3[01]))?$');
    IF part IS NULL THEN
        RETURN NULL;
    END IF;
    day := make_date(coalesce(part[1]::int, year), part[2]::int, 1) + coalesce(part[3]::int, 1) - 1;
    IF part[1] IS NULL AND day < scraped - 90 THEN
        day := make_date(year + 1, part[2]::int, 1) + coalesce(part[3]::int, 1) - 1;
    ELSIF part[1] IS NULL AND day >= scraped + 275 THEN
        day := make_date(year - 1, part[2]::int, 1) + coalesce(part[3]::int, 1) - 1;
    END IF;
    RETURN day;
END $$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION listing_traits(details jsonb) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT array_to_tsvector(array_remove(ARRAY[
        CASE WHEN pets->>'policy' IN ('yes', 'limited') OR pets->>'cats' IN ('yes', 'conditional')
            OR pets->>'dogs' IN ('yes', 'small', 'conditional') THEN 'pets_yes' END,
        CASE WHEN coalesce(pets->>'cats', pets->>'policy') IN ('yes', 'conditional') THEN 'pets_cats' END,
        CASE WHEN coalesce(pets->>'dogs', pets->>'policy') IN ('yes', 'small', 'conditional') THEN 'pets_dogs' END,
        CASE WHEN pets->>'policy' = 'no' THEN 'pets_no' END,
        'furnished_' || (details->>'furnished'),
        CASE WHEN parking->>'offer' IN ('included', 'available', 'extra') THEN 'parking_yes' END,
        'parking_' || (parking->>'offer'),
        'parking_' || (parking->>'type'),
        'lease_' || (details->>'lease')
    ], NULL))
    FROM (VALUES (details->'pets', details->'parking')) v (pets, parking)
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION listing_available(details jsonb) RETURNS date
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
    scraped date := make_date(substr(details->>'scraped_at', 1, 4)::int, substr(details->>'scraped_at', 6, 2)::int,
        substr(details->>'scraped_at', 9, 2)::int);
    part text[];
    year int := extract(year FROM scraped);
    day  date;
BEGIN
    IF details->>'available' = 'now' THEN
        RETURN scraped;
    END IF;
    part := regexp_match(details->>'available', '^(?:<=)?(?:([1-9][0-9]{3})-)?(0[1-9]|1[0-2])(?:-(0[1-9]|[12][0-9]|3[01]))?$');
    IF part IS NULL THEN
        RETURN NULL;
    END IF;
    day := make_date(coalesce(part[1]::int, year), part[2]::int, 1) + coalesce(part[3]::int, 1) - 1;
    IF part[1] IS NULL AND day < scraped - 90 THEN
        day := make_date(year + 1, part[2]::int, 1) + coalesce(part[3]::int, 1) - 1;
    ELSIF part[1] IS NULL AND day >= scraped + 275 THEN
        day := make_date(year - 1, part[2]::int, 1) + coalesce(part[3]::int, 1) - 1;
    END IF;
    RETURN day;
END $$;
-- +goose StatementEnd
