package api

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/mtlrent/conveyor/internal/metric"
)

// The actions by which persons are given out, as the audit has them.
const (
	ContactsExported = "contacts.exported"
	ContactExported  = "contact.exported"
	RefusedShown     = "upload.refused_shown"
	RecipientShown   = "message.recipient_shown"
	OptOutsShown     = "opt_outs.shown"
)

// Given counts what is given out of persons. What the audit has of it says by whom, and of which tenant.
type Given struct{ reads, persons *prometheus.CounterVec }

func newGiven(r prometheus.Registerer) Given {
	m, actions := metric.With(r), []string{ContactsExported, ContactExported, RefusedShown, RecipientShown, OptOutsShown}
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
