package api

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// The actions by which persons are given out, as the audit has them.
const (
	contactsExported = "contacts.exported"
	contactExported  = "contact.exported"
	refusedShown     = "upload.refused_shown"
	recipientShown   = "message.recipient_shown"
)

// given counts what is given out of persons. What the audit has of it says by whom, and of which tenant.
type given struct{ reads, persons *prometheus.CounterVec }

func newGiven(r prometheus.Registerer) given {
	metrics := promauto.With(r)
	g := given{
		reads: metrics.NewCounterVec(prometheus.CounterOpts{
			Name: "conveyor_personal_data_reads_total", Help: "Requests that were given persons, by action in the audit.",
		}, []string{"action"}),
		persons: metrics.NewCounterVec(prometheus.CounterOpts{
			Name: "conveyor_personal_data_persons_total",
			Help: "Persons, or rows of files, that were given out, by action in the audit.",
		}, []string{"action"}),
	}
	for _, action := range []string{contactsExported, contactExported, refusedShown, recipientShown} {
		g.reads.WithLabelValues(action) // or the first would be no increase
		g.persons.WithLabelValues(action)
	}
	return g
}

// read counts a request; its persons are counted as they are given out.
func (g given) read(action string) { g.reads.WithLabelValues(action).Inc() }

func (g given) gave(action string, persons int) {
	g.persons.WithLabelValues(action).Add(float64(persons))
}
