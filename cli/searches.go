package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	apilistings "github.com/mtlrent/conveyor/api/listings"
	"github.com/mtlrent/conveyor/domain/saved"
)

// SearchesCmd saves searches of listings, whose news are told, and shows what they found and told.
type SearchesCmd struct {
	ofTenant

	List       searchesListCmd       `cmd:"" help:"List saved searches, by name."`
	Show       searchesShowCmd       `cmd:"" help:"Show a saved search: filter, schedule, targets."`
	Create     searchesCreateCmd     `cmd:"" aliases:"add" help:"Save a search, and print its secrets and the addresses of its feeds: once."`
	Set        searchesSetCmd        `cmd:"" help:"Change a saved search: its filter, schedule, kinds of news, language, name."`
	Pause      searchesChangeCmd     `cmd:"" help:"Pause a search. What it would have found meanwhile is not sent later."`
	Resume     searchesChangeCmd     `cmd:"" help:"Resume a paused search."`
	Delete     searchesDeleteCmd     `cmd:"" help:"Delete a search with its feeds; news that wait are not sent."`
	Targets    searchesTargetsCmd    `cmd:"" help:"Add, rotate and delete the targets of a search."`
	Challenge  searchesChallengeCmd  `cmd:"" help:"Ask a webhook again to confirm that it wants news: one that is unconfirmed or stopped."`
	Try        searchesTryCmd        `cmd:"" help:"Show what a filter would have found, without saving it."`
	Matches    searchesMatchesCmd    `cmd:"" help:"List what a search has found, the newest first."`
	Deliveries searchesDeliveriesCmd `cmd:"" help:"List the messages to the targets of a search, those that are due last first."`
}

type searchesListCmd struct {
	listFlags
}

// Run prints page after page, up to --limit.
func (c *searchesListCmd) Run(ctx context.Context, group *SearchesCmd, r Client) error {
	return pages[apilistings.SavedSearch]{
		Path: "/searches", Query: group.query(nil), listFlags: c.listFlags,
		Head: "NAME\tSTATE\tPACE\tTELLS\tTARGETS\tID",
		Row: func(t io.Writer, s apilistings.SavedSearch) {
			var targets []string
			for _, to := range s.Targets {
				targets = append(targets, to.Kind+unlessActive(to.State))
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", Short(Plain(s.Name), 40), s.State, paceOf(s.Schedule), commas(s.Kinds),
				strings.Join(targets, ","), s.ID)
		},
	}.list(ctx, r, "there are no saved searches")
}

// paceOf is the pace of a schedule in a word.
func paceOf(s saved.Schedule) string {
	if s.Pace == "" {
		return string(saved.AtOnce)
	}
	return string(s.Pace)
}

// searchAsSent is a saved search, and its filter and schedule with what only a later API knows of them.
type searchAsSent struct {
	apilistings.SavedSearch
	filter, schedule map[string]json.RawMessage
}

// UnmarshalJSON reads the same document as both.
func (s *searchAsSent) UnmarshalJSON(doc []byte) error {
	var raw struct{ Filter, Schedule map[string]json.RawMessage }
	if err := json.Unmarshal(doc, &raw); err != nil {
		return err
	}
	s.filter, s.schedule = raw.Filter, raw.Schedule
	return json.Unmarshal(doc, &s.SavedSearch)
}

// changed is a document of which this program has read before and wants after. The rest stays as it is.
func changed[T any](doc map[string]json.RawMessage, before, after T) (map[string]json.RawMessage, error) {
	var known [2]map[string]json.RawMessage
	for i, v := range []T{before, after} {
		text, err := json.Marshal(v)
		if err == nil {
			err = json.Unmarshal(text, &known[i])
		}
		if err != nil {
			return nil, err
		}
	}
	out := maps.Clone(doc)
	if out == nil {
		out = map[string]json.RawMessage{}
	}
	for name, is := range known[1] {
		if !bytes.Equal(is, known[0][name]) {
			out[name] = is
		}
	}
	for name := range known[0] {
		if _, ok := known[1][name]; !ok {
			delete(out, name)
		}
	}
	return out, nil
}

// savedArg names a saved search.
type savedArg struct {
	Search string `arg:"" help:"ID or name of the search."`
}

// find returns the search of a tenant with the ID or the name.
func (a savedArg) find(ctx context.Context, group *SearchesCmd, r Client) (s searchAsSent, err error) {
	if id, err := uuid.Parse(a.Search); err == nil {
		return s, r.call(ctx, http.MethodGet, group.path("/searches/"+id.String(), nil), nil, &s)
	}
	q := url.Values{"limit": {fmt.Sprint(pageSize)}}
	for {
		var page struct {
			Items      []searchAsSent
			NextCursor string `json:"next_cursor"`
		}
		if err := r.call(ctx, http.MethodGet, group.path("/searches", q), nil, &page); err != nil {
			return s, err
		}
		for _, s := range page.Items {
			if s.Name == a.Search {
				return s, nil
			}
		}
		if page.NextCursor == "" {
			return s, fmt.Errorf("there is no saved search %q; conveyor searches list shows all", a.Search)
		}
		q.Set("cursor", page.NextCursor)
	}
}

type searchesShowCmd struct {
	savedArg
	JSON bool `name:"json" help:"Print the answer of the API as JSON."`
}

// Run prints a search.
func (c *searchesShowCmd) Run(ctx context.Context, group *SearchesCmd, r Client) error {
	s, err := c.find(ctx, group, r)
	if err != nil {
		return err
	}
	return printAs(os.Stdout, s.SavedSearch, c.JSON, printSaved)
}

func printSaved(w io.Writer, s apilistings.SavedSearch) error {
	filter, err := json.Marshal(s.Filter)
	if err != nil {
		return err
	}
	when, err := json.Marshal(s.Schedule)
	if err != nil {
		return err
	}
	t := Table(w)
	fmt.Fprintf(t, "search\t%s\nname\t%s\nstate\t%s\nfilter\t%s\ntells\t%s\nschedule\t%s\ncreated\t%s\n", s.ID, Plain(s.Name),
		s.State, Short(Plain(string(filter)), 300), commas(s.Kinds), Plain(string(when)),
		s.CreatedAt.UTC().Format(time.RFC3339))
	for _, to := range s.Targets {
		showTarget(t, to)
	}
	return t.Flush()
}

type searchesCreateCmd struct {
	Name string `arg:"" help:"Name of the search, once in a tenant."`
	searchFilter
	targetFlags
	Kinds    []string   `help:"Kinds of news to send; the default is all: new, price_drop, back." placeholder:"KIND"`
	Language string     `help:"Language of e-mails, Telegram messages and feeds, en or fr; the default is en." enum:"en,fr," default:""`
	Pace     string     `help:"When they are sent: ${enum}." enum:"at_once,hourly,daily" default:"at_once"`
	At       string     `help:"Time of a daily digest, such as 07:30; the default is 08:00." placeholder:"TIME"`
	Quiet    quietHours `help:"Hours in which nothing is sent, such as 22:00-07:00." placeholder:"FROM-TO"`
	TimeZone string     `help:"Time zone of these times; the default is America/Toronto." placeholder:"NAME"`
	JSON     bool       `name:"json" help:"Print the answer of the API as JSON."`
}

// Help says what is printed once.
func (searchesCreateCmd) Help() string {
	return `The secret of a webhook and the addresses of a feed are printed once; nothing shows them again.`
}

// quietHours are two times of the day, or none.
type quietHours struct {
	from, to string
	set      bool
}

// UnmarshalText reads 22:00-07:00, and - as none.
func (q *quietHours) UnmarshalText(text []byte) (err error) {
	q.set = true
	var ok bool
	if q.from, q.to, ok = strings.Cut(string(text), "-"); !ok {
		return fmt.Errorf("%q is not two times such as 22:00-07:00", text)
	}
	return nil
}

// start is the search as the API takes it.
func (c *searchesCreateCmd) start() (in apilistings.SearchStart, err error) {
	in.Name = c.Name
	if in.Filter, err = c.criteria(); err != nil {
		return in, err
	}
	in.Kinds, in.Language = searchKinds(c.Kinds), apilistings.SearchLanguage(c.Language)
	in.Schedule = &saved.Schedule{
		Pace: saved.Pace(c.Pace), At: c.At, QuietAt: c.Quiet.from, QuietTo: c.Quiet.to, TimeZone: c.TimeZone,
	}
	if err := in.Schedule.Check(); err != nil {
		return in, err
	}
	in.Targets, err = c.targets()
	return in, err
}

// Run saves a search and prints it with what is shown once.
func (c *searchesCreateCmd) Run(ctx context.Context, group *SearchesCmd, r Client) error {
	in, err := c.start()
	if err != nil {
		return err
	}
	return show(ctx, r, http.MethodPost, group.path("/searches", nil), in, c.JSON, printSaved)
}

func searchKinds(kinds []string) (out []apilistings.SearchKind) {
	for _, k := range kinds {
		out = append(out, apilistings.SearchKind(k))
	}
	return out
}

type searchesSetCmd struct {
	savedArg
	searchFilter
	Name     string     `help:"New name of the search." placeholder:"NAME"`
	Kinds    []string   `help:"Kinds of news to send: new, price_drop, back." placeholder:"KIND"`
	Language string     `help:"Language of e-mails, Telegram messages and feeds: en or fr." enum:"en,fr," default:""`
	Pace     string     `help:"When they are sent: at_once, hourly or daily." enum:"at_once,hourly,daily," default:""`
	At       string     `help:"Time of a daily digest, such as 07:30." placeholder:"TIME"`
	Quiet    quietHours `help:"Hours in which nothing is sent, such as 22:00-07:00; - is none." placeholder:"FROM-TO"`
	TimeZone string     `help:"Time zone of these times." placeholder:"NAME"`
	JSON     bool       `name:"json" help:"Print the answer of the API as JSON."`
}

// Help says what stays.
func (searchesSetCmd) Help() string {
	return `What is not given stays. A condition of the filter is taken away by giving the filter anew.`
}

// searchPatch is a patch whose filter and schedule may have what this program does not know.
type searchPatch struct {
	apilistings.SearchPatch
	Filter   any `json:"filter,omitempty"`
	Schedule any `json:"schedule,omitempty"`
}

// patch is what changes of s.
func (c *searchesSetCmd) patch(s searchAsSent) (p searchPatch, err error) {
	filter, err := c.over(s.Filter)
	if err != nil {
		return p, err
	}
	if c.Filter != "" || !reflect.DeepEqual(filter, s.Filter) { // one that stays may be of a release with other rules
		if err := filter.Check(); err != nil {
			return p, err
		}
		if p.Filter = filter; c.Filter == "" {
			if p.Filter, err = changed(s.filter, s.Filter, filter); err != nil {
				return p, err
			}
		}
	}
	when := s.Schedule
	overlay(&when.Pace, saved.Pace(c.Pace))
	overlay(&when.At, c.At)
	overlay(&when.TimeZone, c.TimeZone)
	if c.Quiet.set {
		when.QuietAt, when.QuietTo = c.Quiet.from, c.Quiet.to
	}
	if when != s.Schedule {
		if err := when.Check(); err != nil {
			return p, err
		}
		if p.Schedule, err = changed(s.schedule, s.Schedule, when); err != nil {
			return p, err
		}
	}
	if c.Name != "" {
		p.Name = &c.Name
	}
	if c.Language != "" {
		p.Language = new(apilistings.SearchLanguage(c.Language))
	}
	if p.Kinds = searchKinds(c.Kinds); reflect.ValueOf(p).IsZero() {
		return p, Usage("say what to change, such as --max-price 1500 or --pace daily")
	}
	return p, nil
}

// Run changes a search and prints it.
func (c *searchesSetCmd) Run(ctx context.Context, group *SearchesCmd, r Client) error {
	s, err := c.find(ctx, group, r)
	if err != nil {
		return err
	}
	in, err := c.patch(s)
	if err != nil {
		return err
	}
	return show(ctx, r, http.MethodPatch, group.path("/searches/"+s.ID.String(), nil), in, c.JSON, printSaved)
}

type (
	searchesChangeCmd struct{ savedArg }
	searchesDeleteCmd struct{ savedArg }
)

// Run pauses or resumes a search, as the command is called.
func (c *searchesChangeCmd) Run(ctx context.Context, group *SearchesCmd, r Client, k *kong.Context) error {
	state := saved.Active
	if k.Selected().Name == "pause" {
		state = saved.Paused
	}
	s, err := c.find(ctx, group, r)
	if err != nil {
		return err
	}
	path := group.path("/searches/"+s.ID.String(), nil)
	if err := r.call(ctx, http.MethodPatch, path, apilistings.SearchPatch{State: &state}, &s); err != nil {
		return err
	}
	fmt.Printf("search %s is %s\n", Plain(s.Name), s.State)
	return nil
}

// Run deletes a search.
func (c *searchesDeleteCmd) Run(ctx context.Context, group *SearchesCmd, r Client) error {
	s, err := c.find(ctx, group, r)
	if err != nil {
		return err
	}
	if err := r.call(ctx, http.MethodDelete, group.path("/searches/"+s.ID.String(), nil), nil, nil); err != nil {
		return err
	}
	fmt.Printf("search %s is deleted\n", Plain(s.Name))
	return nil
}

type searchesTryCmd struct {
	searchFilter
	Days  int  `help:"Look at the homes of so many days, 1 to 90." default:"7"`
	Limit int  `help:"Show at most this many, 1 to 100." default:"20"`
	JSON  bool `name:"json" help:"Print the answer of the API as JSON."`
}

// Run prints what a filter would have found.
func (c *searchesTryCmd) Run(ctx context.Context, group *SearchesCmd, r Client) error {
	if err := cmp.Or(within("days", c.Days, 90), within("limit", c.Limit, 100)); err != nil {
		return err
	}
	filter, err := c.criteria()
	if err != nil {
		return err
	}
	in := apilistings.SearchTrial{Filter: filter, Days: c.Days, Limit: c.Limit}
	return show(ctx, r, http.MethodPost, group.path("/searches/try", nil), in, c.JSON,
		func(w io.Writer, got apilistings.SearchTried) error { return printTried(w, got, c.Days) })
}

func printTried(w io.Writer, got apilistings.SearchTried, days int) error {
	t := Table(w)
	for i, h := range got.Items {
		if i == 0 {
			fmt.Fprintln(t, "PUBLISHED (UTC)\tRENT\tBEDROOMS\tPLATFORM\tTITLE\tURL")
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\n", h.At.UTC().Format(time.DateTime), saved.Dollars(h.RentCents), h.Bedrooms,
			Plain(h.Platform), Short(Plain(h.Title), 50), Plain(h.URL))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	least := ""
	if !got.All {
		least = "at least "
	}
	_, err := fmt.Fprintf(w, "it would have found %s%d homes in %d days, %d are shown\n", least, got.Homes, days, len(got.Items))
	return err
}

type searchesMatchesCmd struct {
	savedArg
	listFlags
}

// Run prints page after page, up to --limit.
func (c *searchesMatchesCmd) Run(ctx context.Context, group *SearchesCmd, r Client) error {
	s, err := c.find(ctx, group, r)
	if err != nil {
		return err
	}
	return pages[apilistings.SearchMatch]{
		Path: "/searches/" + s.ID.String() + "/matches", Query: group.query(nil), listFlags: c.listFlags,
		Head: "AT (UTC)\tNEWS\tRENT\tBEFORE\tTITLE\tURL",
		Row: func(t io.Writer, m apilistings.SearchMatch) {
			before := ""
			if m.OldRentCents != nil {
				before = saved.Dollars(*m.OldRentCents)
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", m.At.UTC().Format(time.DateTime), m.Kind, saved.Dollars(m.RentCents), before,
				Short(Plain(m.Title), 50), Plain(m.URL))
		},
	}.list(ctx, r, "it has found nothing yet")
}

type searchesDeliveriesCmd struct {
	savedArg
	stateFlags `set:"states=waiting,started,sent,failed,dropped"`
}

// Run prints page after page, up to --limit.
func (c *searchesDeliveriesCmd) Run(ctx context.Context, group *SearchesCmd, r Client) error {
	s, err := c.find(ctx, group, r)
	if err != nil {
		return err
	}
	return pages[apilistings.SearchDelivery]{
		Path: "/searches/" + s.ID.String() + "/deliveries", Query: c.query(group.query(nil)), listFlags: c.listFlags,
		Head: "DUE (UTC)\tSTATE\tTARGET\tITEMS\tFAILED TRIES\tREASON\tID",
		Row: func(t io.Writer, d apilistings.SearchDelivery) {
			fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%d\t%s\t%s\n", d.DueAt.UTC().Format(time.DateTime), d.State,
				strings.TrimSpace(d.Target.Kind+" "+Plain(d.Target.Label)), d.Items, d.Tries, Short(Plain(d.Reason), 60), d.ID)
		},
	}.list(ctx, r, "there are no such deliveries")
}
