package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/db"
	dboutreach "github.com/mtlrent/conveyor/db/outreach"
	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/sim/demosite"
)

// The tenant that conveyor up makes, its number, and the token that the demo site's fake of the Cloud API takes.
const (
	demoTenant        = "demo"
	demoPhoneNumberID = "106540352242922"
	demoAccountID     = "102290129340398"
	demoToken         = "demo"
)

var demoSender = uuid.MustParse("d0e05e9d-3c1b-5b57-8f4e-6a5f0a5e7d01")

// demoFiles are the paths of a file of contacts and of a campaign; empty when there is no demo.
type demoFiles struct{ contacts, campaign string }

// makeDemo makes the demo tenant, its sender, and in dir a file of contacts and a campaign to try them with. What is
// there stays as it is. Where messages do not go to the demo site, at an address, there is no demo.
func (h *house) makeDemo(ctx context.Context, site, dir string) (made demoFiles, err error) {
	if !h.config.Images.Demo || !strings.HasPrefix(h.config.WhatsApp.URL, "http://"+site) {
		return made, nil
	}
	if err := h.makeTenant(ctx, time.Now().UTC()); err != nil {
		return made, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return made, fmt.Errorf("create folder of the demo: %w", err)
	}
	files := demoFiles{filepath.Join(dir, "contacts.csv"), filepath.Join(dir, "campaign.json")}
	err = writeOnce(files.contacts, func(w io.Writer) error { return demosite.WritePeople(w, 1) })
	if err != nil {
		return made, err
	}
	err = writeOnce(files.campaign, func(w io.Writer) error {
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		return out.Encode(demoCampaign)
	})
	return files, err
}

// demoCampaign writes to the best customers among the contacts of the demo.
var demoCampaign = struct {
	Name     string            `json:"name"`
	Sender   uuid.UUID         `json:"sender"`
	Template campaign.Body     `json:"template"`
	Audience campaign.Audience `json:"audience"`
}{
	"Vente privée", demoSender, campaign.Body{Type: campaign.TypeTemplate, Template: &campaign.Template{
		Name: "vente_privee", Language: campaign.Language{Code: "fr"},
		Components: []campaign.Component{{Type: "body", Parameters: []campaign.Parameter{
			{Type: "text", Text: "{{given_name|vous}}"}, {Type: "text", Text: "{{points|0}}"},
		}}},
	}}, campaign.Audience{To: campaign.Groups{Tags: []string{"VIP"}}},
}

func (h *house) makeTenant(ctx context.Context, now time.Time) error {
	const actor = "cli:demo"
	tenants, senders := db.NewTenants(h.pool), dboutreach.NewSenders(h.pool)
	_, err := tenants.Get(ctx, demoTenant)
	if is(err, fault.Gone) {
		err = tenants.Create(ctx, db.Tenant{
			ID: demoTenant, Name: "Demo", Tier: campaign.Standard, Region: "CA", CreatedAt: now,
		}, actor)
	}
	if err != nil && !is(err, fault.Conflict) { // another process has made it
		return err
	}
	box, err := h.config.Outreach.Box()
	if err != nil {
		return err
	}
	purposes := dboutreach.SenderPurposes(demoTenant, demoSender, demoPhoneNumberID, h.config.Outreach.BindTokens)
	sealed, err := senders.Token(ctx, demoTenant, demoSender)
	if err == nil {
		if _, broken := box.OpenAny(sealed.Key, sealed.Box, purposes...); broken == nil {
			return nil
		}
	}
	known := err == nil
	if !known && !is(err, fault.Gone) {
		return err
	}
	var token db.Sealed
	if token.Key, token.Box, err = box.Seal(purposes[0], []byte(demoToken)); err != nil {
		return err
	}
	if known { // the key that it was sealed with is gone
		_, err = senders.Change(ctx, demoTenant, demoSender, &token, actor, now, nil)
		return err
	}
	return senders.Add(ctx, dboutreach.Sender{
		ID: demoSender, Tenant: demoTenant, Name: "Demo", PhoneNumberID: demoPhoneNumberID,
		BusinessAccountID: demoAccountID, CreatedAt: now,
	}, token, actor)
}

func is(err error, class fault.Class) bool {
	got, _ := fault.Of(err)
	return got == class
}

// writeOnce writes a file that its user alone can read, all of it or nothing. One that is there stays as it is.
func writeOnce(path string, write func(io.Writer) error) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	err = write(f)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
