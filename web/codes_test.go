package web_test

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/domain/draft"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/saved"
	"github.com/mtlrent/conveyor/internal/sharedtest"
)

// TestCodesHaveNames has a name in both languages for each code that the API may send and a page shows.
func TestCodesHaveNames(t *testing.T) {
	t.Parallel()

	enums := enumsOf(t)
	var facts []string
	for _, f := range listing.FactFields {
		facts = append(facts, f.Name)
	}
	for _, tt := range []struct {
		file, table string // in web/src/say, after the language
		codes       []string
	}{
		{"codes", "reason", constants(t, "../domain/listing/rejection.go", "Code")},
		{"codes", "field", members(
			listing.Listing{}, listing.Pets{}, listing.Parking{}, listing.Utilities{}, listing.Address{}, listing.Unit{}, listing.Raw{})},
		{"codes", "fact", facts},
		{"codes", "criterion", members(saved.Criteria{})},
		{"codes", "draft", members(draft.Draft{})},
		{"codes", "source", slices.Concat(
			typed(t, "../domain/draft/draft.go", "Source"), typed(t, "../domain/draft/stored.go", "Source"))},
		{"codes", "contact", constants(t, "../domain/contact/mapping.go", "Field")},
		{"codes", "fault", strung(fault.Classes)},
		{"codes", "url", enums["CrawlURL.status"]},
		{"codes", "role", enums["Key.role"]},
		{"codes", "service", constants(t, "../domain/backlog/backlog.go", "(?:OK|Slow|Stuck|Away)")},
		{"outreach", "problems", slices.Concat(constants(t, "../domain/contact/contact.go", "Code"),
			constants(t, "../db/outreach/uploads_chunks.go", "Code"))},
		{"outreach", "causes", slices.Concat(strung(campaign.Classes), typed(t, "../domain/campaign/message.go", "Class"))},
		{"outreach", "campaignStates", enums["Campaign.state"]},
		{"outreach", "messageStates", enums["Message.state"]},
		{"outreach", "uploadStates", enums["Upload.state"]},
		{"outreach", "kinds", enums["Message.kind"]},
		{"outreach", "senderStates", enums["Sender.state"]},
		{"outreach", "tiers", enums["Tenant.tier"]},
		{"outreach", "tenantStates", enums["Tenant.state"]},
		{"crawl", "states", enums["CrawlRun.status"]},
		{"drafts", "states", slices.Concat(enums["DraftRequestState.state"], enums["DraftRequestSummary.state"])},
		{"drafts", "outcomes", enums["DraftSummary.outcome"]},
		{"drafts", "availabilities", typed(t, "../domain/draft/draft.go", "Availability")},
		{"drafts", "reasons", typed(t, "../domain/draft/candidates.go", "Why")},
		{"listings", "state", enums["Platform.state"]},
		{"listings", "imageStates", enums["ImageDetail.state"]},
		{"listings", "steps", enums["WayStep.step"]},
		{"listings", "states", enums["SearchDelivery.state"]},
		{"listings", "targetKind", enums["SearchTarget.kind"]},
		{"listings", "targetState", enums["SearchTarget.state"]},
		{"operations", "states", enums["LetterItem.state"]},
		{"operations", "statuses", enums["Audit.status"]},
		{"today", "kinds", enums["FeedRow.kind"]},
	} {
		if len(tt.codes) == 0 {
			t.Errorf("no code of %s was found: the test looks in the wrong place", tt.table)
		}
		for _, language := range []string{"en", "fr"} {
			file := "src/say/" + language + "_" + tt.file + ".ts"
			names := table(t, file, tt.table)
			for _, code := range tt.codes {
				if !slices.Contains(names, code) {
					t.Errorf("%s has no name for %q in %s", file, code, tt.table)
				}
			}
		}
	}
}

// table returns the codes that the first table of that name in a file has names for.
func table(t *testing.T, file, name string) (codes []string) {
	t.Helper()

	source := read(t, file)
	_, rest, found := strings.Cut(source, "\n  "+name+": {")
	inner, _, _ := strings.Cut(rest, "}")
	if !found {
		t.Errorf("%s has no table %s", file, name)
	}
	for _, m := range regexp.MustCompile(`(?:'([^']+)'|(\w+)):\s+'[^']+'`).FindAllStringSubmatch(inner, -1) {
		codes = append(codes, m[1]+m[2])
	}
	return codes
}

// constants returns the values, of those that are words, of a file's constants whose names begin with prefix.
func constants(t *testing.T, file, prefix string) (values []string) {
	t.Helper()

	for _, m := range regexp.MustCompile(`(?m)^\s+`+prefix+`\w*\s+= "(\w+)"`).FindAllStringSubmatch(read(t, file), -1) {
		values = append(values, m[1])
	}
	return values
}

// typed returns the values of a file's constants of a type.
func typed(t *testing.T, file, name string) (values []string) {
	t.Helper()

	for _, m := range regexp.MustCompile(`\s`+name+`\s+= "([\w-]+)"`).FindAllStringSubmatch(read(t, file), -1) {
		values = append(values, m[1])
	}
	return values
}

// members returns the names that the fields of structs have in JSON.
func members(structs ...any) (names []string) {
	for _, s := range structs {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(s)) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				names = append(names, name)
			}
		}
	}
	return names
}

func strung[T ~string](values []T) (out []string) {
	for _, v := range values {
		out = append(out, string(v))
	}
	return out
}

// enumsOf returns the values of the members of answers that have few, such as Key.role.
func enumsOf(t *testing.T) map[string][]string {
	t.Helper()

	var document struct {
		Components struct {
			Schemas map[string]struct {
				Properties map[string]struct{ Enum []string }
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "../api/testdata/openapi.golden.yaml")), &document))
	enums := map[string][]string{}
	for schema, s := range document.Components.Schemas {
		for member, p := range s.Properties {
			enums[schema+"."+member] = p.Enum
		}
	}
	return enums
}

func read(t *testing.T, file string) string {
	t.Helper()

	data := sharedtest.Read(t, file)
	return string(data)
}
