package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
)

// A Paused is how soon a campaign that is paused sends nothing more: from the answer of the call until the last request
// for one of its messages.
type Paused struct {
	PerSecond int       `json:"per_second"` // messages of the campaign
	Millis    []float64 `json:"ms"`         // of each try, sorted; 0 = none came after the answer
	P50       float64   `json:"p50_ms"`
	Max       float64   `json:"max_ms"`
	After     int       `json:"messages_after"` // that were sent after the answer, of the try with the most
}

const (
	pauseTries    = 10
	pausedWatched = 5 * time.Second // after each call: longer than the two seconds that are promised
)

// pauses has a campaign sent at a rate, pauses it again and again, and looks at what is sent after that.
func (p *posting) pauses(ctx context.Context, rate int) error {
	if err := p.begin(ctx, fmt.Sprint("CONVEYOR_DISPATCH_ENTERPRISE=", rate)); err != nil {
		return err
	}
	if err := p.wait(ctx); err != nil {
		return err
	}
	const tenant = "pauses"
	sender, err := p.tenant(ctx, tenant, campaign.Enterprise, 0, time.Now())
	if err != nil {
		return err
	}
	id, err := p.campaign(ctx, tenant, sender, 4*pauseTries*rate) // a try sends for two seconds, and what is after it
	if err != nil {
		return err
	}
	store, out := dboutreach.NewCampaigns(p.db, nil), Paused{PerSecond: rate}
	for n := range pauseTries {
		if n > 0 {
			if _, err := p.act(ctx, tenant, id, "resume"); err != nil {
				return err
			}
		}
		if err := p.sending(ctx, rate/2); err != nil {
			return err
		}
		time.Sleep(time.Duration(n*137%1000) * time.Millisecond) // each try at another moment of a turn
		answered, err := p.act(ctx, tenant, id, "pause")
		if err != nil {
			return err
		}
		time.Sleep(pausedWatched)
		c, err := store.Get(ctx, tenant, id)
		if err != nil {
			return err
		}
		if c.State != campaign.Paused {
			return fmt.Errorf("the campaign is %s: it has too few messages", c.State)
		}
		took, after := 0., 0
		for _, a := range p.api.Ledger() {
			if a.At.After(answered) {
				took, after = max(took, a.At.Sub(answered).Seconds()*1000), after+1
			}
		}
		out.Millis, out.After = append(out.Millis, took), max(out.After, after)
	}
	slices.Sort(out.Millis)
	out.P50, out.Max = out.Millis[(len(out.Millis)-1)/2], out.Millis[len(out.Millis)-1]
	p.report.Paused = append(p.report.Paused, out)
	return nil
}

const sqlBenchContacts = `
INSERT INTO contacts (tenant, created_at, updated_at, digest, key, phone)
SELECT $1, now(), now(), substr(sha256(convert_to($1 || n, 'UTF8')), 1, 16), $1 || n, '+1514' || lpad(n::text, 7, '0')
FROM generate_series(1, $2) n ON CONFLICT DO NOTHING`

// campaign starts a campaign to n people, who are a tenant's only contacts.
func (p *posting) campaign(ctx context.Context, tenant string, sender uuid.UUID, n int) (id uuid.UUID, err error) {
	err = p.everyTenant(ctx, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sqlBenchContacts, tenant, n)
		return err
	})
	if err != nil {
		return id, err
	}
	id = uuid.New()
	store, now := dboutreach.NewCampaigns(p.db, nil), time.Now()
	if _, err := store.Create(ctx, tenant, id, dboutreach.Plan{
		Name: "bench", Sender: sender, Audience: campaign.Audience{All: true},
		Template: campaign.Body{Type: campaign.TypeText, Text: &campaign.Text{Body: "Bonjour"}},
	}, "bench", now); err != nil {
		return id, err
	}
	if _, err := store.Schedule(ctx, tenant, id, now, "bench", now); err != nil {
		return id, err
	}
	return id, p.launch.StartCampaign(ctx, tenant, id)
}

// sending waits until so many more messages are accepted.
func (p *posting) sending(ctx context.Context, more int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := p.accepted(ctx, p.api.Counts().Accepted+more); err != nil {
		return fmt.Errorf("the campaign does not send: %w", err)
	}
	return nil
}

// act does something to a campaign by the API, and says when that was answered.
func (p *posting) act(ctx context.Context, tenant string, id uuid.UUID, action string) (answered time.Time, err error) {
	address := fmt.Sprintf("%s/campaigns/%s/%s?tenant=%s", p.system.api, id, action, tenant)
	err = postJSON(ctx, address, "{}", new(struct{}))
	return time.Now(), err
}

// printPaused prints the figures of pauses.
func printPaused(w io.Writer, all []Paused) {
	table(w, "\npauses of a campaign, from the answer of the call to the last message sent:",
		"messages/s\ttries\tp50 ms\tmost ms\tmost messages\t", all, func(t io.Writer, p Paused) {
			fmt.Fprintf(t, "%d\t%d\t%.0f\t%.0f\t%d\t\n", p.PerSecond, len(p.Millis), p.P50, p.Max, p.After)
		})
}
