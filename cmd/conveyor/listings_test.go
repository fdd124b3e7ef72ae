package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/backlog"
)

func TestScraperState(t *testing.T) {
	t.Parallel()

	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	p := dblistings.Platform{
		Name: "kijiji", State: "scraping", Next: "goes on with cycle 2, page 3",
		Settings: dblistings.PlatformSettings{Enabled: true, DelaySeconds: 30, MaxPages: 250, CooldownSeconds: 60},
		Blocked:  &dblistings.PlatformBlock{Refusals: 3, Reason: "429"},
		Suspect:  &dblistings.PlatformTrouble{Since: noon, Reason: "why"}, LastSuccessAt: new(noon.Add(-10 * time.Minute)),
		Adverts: dblistings.PlatformAdverts{Known: 120, Failed: 2, Gone: 7}, OldestVisitAt: new(noon.Add(-7 * time.Hour)),
		Current: &dblistings.PlatformCycle{Cycle: 2, StartedAt: noon.Add(-5 * time.Minute)},
		Last:    &dblistings.PlatformCycle{Cycle: 1, StartedAt: noon.Add(-time.Hour)},
	}
	want := backlog.Scraper{
		Name: "kijiji", State: "scraping", Next: p.Next, Refusals: 3, RefusedReason: "429", SuspectSince: new(noon),
		SuspectReason: "why", LastSuccessAt: p.LastSuccessAt, OverdueSeconds: 510,
		Adverts: backlog.AdvertCount{Known: 120, Failed: 2, Gone: 7}, OldestVisitAt: p.OldestVisitAt,
		CycleSeconds: 48, // a page, and of the re-visits of six hours what falls on it
	}
	require.Equal(t, want, scraperState(p, noon))
	p.LastSuccessAt, want.LastSuccessAt, want.OverdueSeconds = nil, nil, 3510 // since its earliest cycle
	require.Equal(t, want, scraperState(p, noon))
}
