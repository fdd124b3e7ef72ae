package db

import (
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"
)

// typed makes connections write and read uuid.UUID as the 16 bytes that it is. pgx by itself asks it for its text,
// fails to write that in binary form, and parses it: twelve times the time for every ID, also of each in an array.
func typed(m *pgtype.Map) {
	m.RegisterType(&pgtype.Type{Name: "uuid", OID: pgtype.UUIDOID, Codec: uuidCodec{}})
}

// uuidCodec is pgx's own for anything but a uuid.UUID in binary form.
type uuidCodec struct{ pgtype.UUIDCodec }

func (c uuidCodec) PlanEncode(m *pgtype.Map, oid uint32, format int16, value any) pgtype.EncodePlan {
	if _, ok := value.(uuid.UUID); ok && format == pgtype.BinaryFormatCode {
		return uuidBytes{}
	}
	return c.UUIDCodec.PlanEncode(m, oid, format, value)
}

func (c uuidCodec) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	if _, ok := target.(*uuid.UUID); ok && format == pgtype.BinaryFormatCode {
		return uuidBytes{}
	}
	return c.UUIDCodec.PlanScan(m, oid, format, target)
}

type uuidBytes struct{}

func (uuidBytes) Encode(value any, buf []byte) ([]byte, error) {
	id := value.(uuid.UUID) //nolint:forcetypeassert // the plan is for no other
	return append(buf, id[:]...), nil
}

// Scan leaves the target as it is where the value is NULL, as uuid.UUID's own method does.
func (uuidBytes) Scan(src []byte, target any) error {
	if src != nil && len(src) != len(uuid.UUID{}) {
		return fmt.Errorf("read uuid: it has %d bytes", len(src))
	}
	copy(target.(*uuid.UUID)[:], src) //nolint:forcetypeassert // the plan is for no other
	return nil
}
