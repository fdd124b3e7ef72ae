package api

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/internal/metric"
)

// The actions by which persons are given out, as the audit has them.
const (
	ContactsExported = "contacts.exported"
	ContactsShown    = "contacts.shown"
	ContactExported  = "contact.exported"
	ContactShown     = "contact.shown"
	ContactPutShown  = "contact.put_shown"
	PreviewShown     = "upload.preview_shown"
	RefusedShown     = "upload.refused_shown"
	MessageShown     = "message.shown"
	RecipientShown   = "message.recipient_shown"
	OptOutsShown     = "opt_outs.shown"
	TenantExported   = "tenant.exported"
)

// Given counts what is given out of persons. What the audit has of it says by whom, and of which tenant.
type Given struct{ reads, persons *prometheus.CounterVec }

func newGiven(r prometheus.Registerer) Given {
	m := metric.With(r)
	actions := []string{
		ContactsExported, ContactsShown, ContactExported, ContactShown, ContactPutShown, PreviewShown, RefusedShown,
		MessageShown, RecipientShown, OptOutsShown, TenantExported,
	}
	return Given{
		reads: m.Counters("conveyor_personal_data_reads_total",
			"Requests that were given persons, by action in the audit.", "action", actions...),
		persons: m.Counters("conveyor_personal_data_persons_total",
			"Persons, or rows of files, that were given out, by action in the audit.", "action", actions...),
	}
}

// Read counts a request; its persons are counted as they are given out.
func (g Given) Read(action string) { g.reads.WithLabelValues(action).Inc() }

// Gave counts the persons whose data an action gave out.
func (g Given) Gave(action string, persons int) {
	g.persons.WithLabelValues(action).Add(float64(persons))
}

// A Recorder is how a store records that persons of a tenant are given out: action says how, and subject of whom. The
// detail has no personal data.
type Recorder = func(
	ctx context.Context, tenant, action, subject, actor string, now time.Time, detail map[string]any,
) error

// GiveOut records that an answer has so many persons of a tenant, and counts them. They are not given out when that
// fails.
func (d *Door) GiveOut(ctx context.Context, record Recorder, tenant, action, subject string, persons int,
	detail map[string]any,
) error {
	if err := record(ctx, tenant, action, subject, CallerOf(ctx).Name, d.Now(), detail); err != nil {
		return err
	}
	d.Given.Read(action)
	d.Given.Gave(action, persons)
	return nil
}

// GiveOutOften counts a person of a tenant that an operation which programs repeat gives out: the audit has how often,
// once a minute for each caller.
func (d *Door) GiveOutOften(ctx context.Context, tenant, action, operation string) {
	d.guard.reads.read(d.Now(), action, tenant, operation, CallerOf(ctx), db.OriginOf(ctx))
	d.Given.Read(action)
	d.Given.Gave(action, 1)
}
