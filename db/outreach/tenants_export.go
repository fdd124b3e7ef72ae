package outreach

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/domain/fault"
)

// An ExportTable is a table of an export of a tenant.
type ExportTable struct {
	Name   string
	Hidden []string // columns that are left out: secrets, and hashes of them

	table tenantTable
}

// Tables are those that an export of a tenant has.
func (s *Erasures) Tables() (list []ExportTable) {
	for _, t := range tenantTables {
		if t.name != "tenant_erasures" {
			list = append(list, ExportTable{t.name, t.hidden, t})
		}
	}
	return list
}

// latePlace begins a place among the rows of a table that are read after the others.
const latePlace = "late "

// Read gives each row of a tenant among up to most rows of a table after a place ("" = the beginning) to take, as JSON
// without a line break, and returns the place to go on from: "" after the last. It stops before that when take has had
// enough bytes, and holds a connection meanwhile: take does not wait for anybody. Opt-outs that are hashed by their key
// come last, so that one which is hashed while they are read is there in one of its forms, or in both.
func (s *Erasures) Read(ctx context.Context, tenant string, t ExportTable, after string, most, enough int,
	take func(row string)) (next string, err error) {
	after, late := strings.CutPrefix(after, latePlace)
	if after == "" {
		after = t.table.first()
	}
	hidden := t.Hidden
	if hidden == nil {
		hidden = []string{}
	}
	args := []any{tenant, after, most, hidden}
	if strings.Contains(t.table.adds, "$5") {
		pads, err := s.key.pads(ctx)
		if err != nil {
			return "", err
		}
		args = append(args, pads.Inner, pads.Outer)
	}
	err = db.SystemTx(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, t.table.readText(late), args...); err != nil {
			return err
		}
		looked, had, whole := 0, 0, true
		for n := fewRows; whole && had < enough; n = moreRows(n, looked, had, enough) {
			rows, err := tx.Query(ctx, fetches[n])
			if err != nil {
				return err
			}
			before := looked
			for had < enough && rows.Next() {
				var row *string
				if err := rows.Scan(&next, &row); err != nil {
					rows.Close()
					return err
				}
				if looked++; row != nil {
					had += len(*row)
					take(*row)
				}
			}
			whole = looked-before == 1<<n
			rows.Close() // reads what is left and forgets it
			if err := rows.Err(); err != nil {
				return err
			}
		}
		if had < enough && looked < most {
			next = ""
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("export %s of tenant %.80q: %w", t.Name, tenant, err)
	}
	if late && next != "" || !late && next == "" && t.table.late != "" {
		next = latePlace + next
	}
	return next, nil
}

// fewRows is which of fetches comes first.
const fewRows = 2

// moreRows is which of fetches comes after the n-th, so that rows like those before are not read beyond what is enough:
// these would be read once more. Twice as many at most, for the next ones may be of another size.
func moreRows(n, looked, had, enough int) int {
	n = min(n+1, len(fetches)-1)
	for n > 0 && had > 0 && 1<<n > (enough-had)*looked/had+1 {
		n--
	}
	return n
}

// An ExportFile is an uploaded file of a tenant.
type ExportFile struct {
	Upload uuid.UUID
	Key    string // in the blob store
	Bytes  int64
}

const sqlTenantFiles = `/* sqlTenantFiles */
SELECT id, blob, bytes FROM uploads WHERE tenant = $1 AND id > $2 AND blob <> '' ORDER BY id LIMIT $3`

// Files returns up to most uploaded files of a tenant that are kept, after that of an upload.
func (s *Erasures) Files(ctx context.Context, tenant string, after uuid.UUID, most int) ([]ExportFile, error) {
	list, err := db.TenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[ExportFile], sqlTenantFiles, tenant, after, most)
	return list, fault.Wrap(err, "list files of tenant %.80q", tenant)
}

// Exported records in the audit that a tenant is, or was, given out.
func (s *Erasures) Exported(ctx context.Context, tenant, actor string, now time.Time, detail map[string]any) error {
	return shown(ctx, s.pool, db.AuditEntry{
		At: now, Actor: actor, Action: "tenant.exported", Subject: "tenant/" + tenant, Detail: detail,
	})
}
