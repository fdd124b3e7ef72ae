package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/db"
	"github.com/mtlrent/conveyor/db/dbtest"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/backlog"
	"github.com/mtlrent/conveyor/domain/platform"
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

// A scraper that was not started when its platform was enabled is missing until its first cycle.
func TestUnbegunScrapers(t *testing.T) {
	t.Parallel()

	ctx, now := t.Context(), time.Now()
	store := dblistings.NewPlatforms(dbtest.New(t))
	h := &house{}
	site := platform.All[0].Site()
	for _, name := range []string{"kijiji", "kangalou", "lespac"} {
		require.NoError(t, store.Configure(ctx, name, h.config.Scrape.Of(name, site), now))
	}
	names := func() (out []string) {
		list, err := unbegun(ctx, store)
		require.NoError(t, err)
		for _, p := range list {
			out = append(out, p.Name)
		}
		return out
	}
	set := func(name string, c dblistings.PlatformChange) {
		require.NoError(t, store.Set(ctx, name, c, db.AuditEntry{At: now, Actor: "zoe", Action: "platform.set"}))
	}
	require.Empty(t, names(), "they are disabled")
	set("kijiji", dblistings.PlatformChange{Enabled: new(true)})
	set("kangalou", dblistings.PlatformChange{Enabled: new(true)})
	set("lespac", dblistings.PlatformChange{Enabled: new(true), Paused: new(true)})
	require.Equal(t, []string{"kangalou", "kijiji"}, names())
	_, err := store.Begin(ctx, "kijiji", now)
	require.NoError(t, err)
	require.Equal(t, []string{"kangalou"}, names(), "the other has begun")
}
