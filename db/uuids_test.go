package db_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
)

func TestUUIDs(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	a, b := uuid.MustParse("0b9c54e1-0000-4000-8000-00000000000a"), uuid.MustParse("ffffffff-ffff-4fff-bfff-ffffffffffff")
	for _, mode := range []pgx.QueryExecMode{pgx.QueryExecModeCacheStatement, pgx.QueryExecModeCacheDescribe} { // Pooled
		var (
			one, kept = uuid.Nil, b
			none      = &a
			some      *uuid.UUID
			list      []uuid.UUID
			holes     []*uuid.UUID
			text      string
		)
		err := pool.QueryRow(t.Context(), `SELECT $1::uuid, NULL::uuid, $2::uuid, $1::uuid, $3::uuid[],
			ARRAY[$1::uuid, NULL], $1::uuid::text`, mode, a, (*uuid.UUID)(nil), []uuid.UUID{b, a}).
			Scan(&one, &kept, &none, &some, &list, &holes, &text)
		require.NoError(t, err, mode)
		require.Equal(t, a, one, mode)
		require.Equal(t, b, kept, "%s: NULL leaves the target as it is", mode)
		require.Nil(t, none, mode)
		require.Equal(t, &a, some, mode)
		require.Equal(t, []uuid.UUID{b, a}, list, mode)
		require.Equal(t, []*uuid.UUID{&a, nil}, holes, mode)
		require.Equal(t, a.String(), text, mode)
	}
	rows, err := db.Rows(t.Context(), pool, pgx.RowTo[map[string]any], `SELECT jsonb_build_object('id', $1::uuid)`, a)
	require.NoError(t, err)
	require.Equal(t, []map[string]any{{"id": a.String()}}, rows)
}

func TestUUIDsAllocate(t *testing.T) { // not beside others, whose allocations would count
	m, list, buf := pgtype.NewMap(), make([]uuid.UUID, 100), make([]byte, 0, 4<<10)
	db.Typed(m)
	require.Less(t, testing.AllocsPerRun(10, func() {
		written, err := m.Encode(pgtype.UUIDArrayOID, pgtype.BinaryFormatCode, list, buf)
		require.NoError(t, err)
		require.NoError(t, m.Scan(pgtype.UUIDArrayOID, pgtype.BinaryFormatCode, written, &list))
	}), 150.0, "an ID of an array takes one allocation to write and none to read")
}

func BenchmarkUUIDs(b *testing.B) {
	ours := pgtype.NewMap()
	db.Typed(ours)
	list, buf := make([]uuid.UUID, 1000), make([]byte, 0, 64<<10)
	for name, m := range map[string]*pgtype.Map{"ours": ours, "pgx": pgtype.NewMap()} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				written, err := m.Encode(pgtype.UUIDArrayOID, pgtype.BinaryFormatCode, list, buf)
				require.NoError(b, err)
				require.NoError(b, m.Scan(pgtype.UUIDArrayOID, pgtype.BinaryFormatCode, written, &list))
			}
		})
	}
}
