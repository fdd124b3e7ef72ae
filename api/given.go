package api

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// The actions by which persons are given out, as the audit has them.
const (
	ContactsExported = "contacts.exported"
	ContactExported  = "contact.exported"
	RefusedShown     = "upload.refused_shown"
	RecipientShown   = "message.recipient_shown"
)

// Given counts what is given out of persons. What the audit has of it says by whom, and of which tenant.
type Given struct{ reads, persons *prometheus.CounterVec }

func newGiven(r prometheus.Registerer) Given {
	metrics := promauto.With(r)
	g := Given{
		reads: metrics.NewCounterVec(prometheus.CounterOpts{
			Name: "conveyor_personal_data_reads_total", Help: "Requests that were given persons, by action in the audit.",
		}, []string{"action"}),
		persons: metrics.NewCounterVec(prometheus.CounterOpts{
			Name: "conveyor_personal_data_persons_total",
			Help: "Persons, or rows of files, that were given out, by action in the audit.",
		}, []string{"action"}),
	}
	for _, action := range []string{ContactsExported, ContactExported, RefusedShown, RecipientShown} {
		g.reads.WithLabelValues(action) // or the first would be no increase
		g.persons.WithLabelValues(action)
	}
	return g
}

// Read counts a request; its persons are counted as they are given out.
func (g Given) Read(action string) { g.reads.WithLabelValues(action).Inc() }

// Gave counts the persons whose data an action gave out.
func (g Given) Gave(action string, persons int) {
	g.persons.WithLabelValues(action).Add(float64(persons))
}
