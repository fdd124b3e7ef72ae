package db

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
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

// Read gives each row of a tenant among up to most rows of a table after a place ("" = the beginning) to take, as JSON
// without a line break, and returns the place to go on from: "" after the last. It stops before that when take has had
// about enough bytes, and holds a connection meanwhile: take does not wait for anybody.
func (s *Erasures) Read(ctx context.Context, tenant string, t ExportTable, after string, most, enough int,
	take func(row string)) (next string, err error) {
	if after == "" {
		after = t.table.first()
	}
	hidden := t.Hidden
	if hidden == nil {
		hidden = []string{}
	}
	err = systemTx(ctx, s.pool, func(tx pgx.Tx) error {
		looked, had := 0, 0
		rows, err := tx.Query(ctx, t.table.readText(), tenant, after, most, hidden)
		if err != nil {
			return err
		}
		defer rows.Close()
		for had < enough && rows.Next() {
			var row *string
			if err := rows.Scan(&next, &row); err != nil {
				return err
			}
			if looked++; row != nil {
				had += len(*row)
				take(*row)
			}
		}
		rows.Close() // reads what is left and forgets it
		if had < enough && looked < most {
			next = ""
		}
		return rows.Err()
	})
	if err != nil {
		return "", fmt.Errorf("export %s of tenant %.80q: %w", t.Name, tenant, err)
	}
	return next, nil
}

// An ExportFile is an uploaded file of a tenant.
type ExportFile struct {
	Upload uuid.UUID
	Key    string // in the blob store
	Bytes  int64
}

const sqlTenantFiles = `
SELECT id, blob, bytes FROM uploads WHERE tenant = $1 AND id > $2 AND blob <> '' ORDER BY id LIMIT $3`

// Files returns up to most uploaded files of a tenant that are kept, after that of an upload.
func (s *Erasures) Files(ctx context.Context, tenant string, after uuid.UUID, most int) ([]ExportFile, error) {
	list, err := tenantRows(ctx, s.pool, tenant, pgx.RowToStructByPos[ExportFile], sqlTenantFiles, tenant, after, most)
	if err != nil {
		return nil, fmt.Errorf("list files of tenant %.80q: %w", tenant, err)
	}
	return list, nil
}

// Exported records in the audit that a tenant is, or was, given out.
func (s *Erasures) Exported(ctx context.Context, tenant, actor string, now time.Time, detail map[string]any) error {
	return shown(ctx, s.pool, AuditEntry{
		At: now, Actor: actor, Action: "tenant.exported", Subject: "tenant/" + tenant, Detail: detail,
	})
}
