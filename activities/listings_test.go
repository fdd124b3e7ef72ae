package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/contract"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/listing/prose"
)

var (
	now     = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)
	ref     = listing.Ref{Platform: "kijiji", PlatformID: "1329279535"}
	errAway = errors.New("connection refused")
	testRun = listing.Run{WorkflowID: "default-test-workflow-id", RunID: "default-test-run-id"}
)

func clock() time.Time { return now }

// do runs an activity in a test environment, and returns its result and error.
func do(t *testing.T, act func(context.Context) error) (err error) {
	t.Helper()

	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(quiet))
	env := suite.NewTestActivityEnvironment()
	called := func(ctx context.Context) error {
		err = act(ctx)
		return nil
	}
	env.RegisterActivity(called)
	_, failed := env.ExecuteActivity(called)
	require.NoError(t, failed)
	return err
}

// step runs one step of the pipeline.
func step(t *testing.T, run func(context.Context, activities.ListingJob) (activities.ListingJob, error),
	job activities.ListingJob) (out activities.ListingJob, err error) {
	t.Helper()

	err = do(t, func(ctx context.Context) (err error) {
		out, err = run(ctx, job)
		return err
	})
	out.Note = "" // for people
	return out, err
}

// store is the database as the pipeline sees it. It keeps what was written last.
type store struct {
	err     error // of every write
	gone    error // of every read
	payload string
	staged  bool
	version listing.Version
	kept    *listing.Version // by the step before; its Row is not 0
	moved   bool             // it has changed since
	loaded  int              // how often version was read
	home    listing.HomeJudgement
	images  []listing.Image

	normalized  listing.Listing
	rejection   *listing.Rejection
	prefer      []string
	duplicateOf uuid.UUID
	reasons     []listing.Reason
	publication listing.Publication
	handover    listing.Handover
	withheld    bool
	run         listing.Run
	at          time.Time
}

func (s *store) Raw(context.Context, uuid.UUID) (listing.Payload, error) {
	return listing.Payload{Revision: 3, Body: []byte(s.payload), Staged: s.staged, ScrapedAt: now}, s.gone
}

func (s *store) Kept(_ uuid.UUID, revision int64) (v listing.Version, ok bool) {
	if s.kept == nil || s.kept.Revision != revision {
		return v, false
	}
	return *s.kept, true
}

func (s *store) Load(context.Context, uuid.UUID) (listing.Version, error) {
	s.loaded++
	return s.version, s.gone
}

// stale is the error of a step with v.
func (s *store) stale(v listing.Version) error {
	if v.Row == 0 || !s.moved {
		return s.err
	}
	return fmt.Errorf("join: %w", listing.ErrMoved)
}

func (s *store) JoinHome(_ context.Context, v listing.Version, prefer []string, run listing.Run, at time.Time) (
	listing.HomeJudgement, int, error) {
	s.prefer, s.run, s.at = prefer, run, at
	return s.home, 1, s.stale(v)
}

func (s *store) SaveNormalized(_ context.Context, l listing.Listing, _ listing.Payload, at time.Time) error {
	s.normalized, s.at = l, at
	return s.err
}

func (s *store) Reject(_ context.Context, _ listing.Raw, _ listing.Payload, r *listing.Rejection, run listing.Run,
	at time.Time) error {
	s.rejection, s.run, s.at = r, run, at
	return s.err
}

func (s *store) SaveDuplicate(_ context.Context, _ listing.Ref, _ int64, of uuid.UUID, reasons []listing.Reason,
	run listing.Run, at time.Time) error {
	s.duplicateOf, s.reasons, s.run, s.at = of, reasons, run, at
	return s.err
}

func (s *store) Publish(_ context.Context, p listing.Publication, run listing.Run, at time.Time) ([]listing.Image,
	error) {
	s.publication, s.run, s.at = p, run, at
	return s.images, s.stale(p.Version)
}

func (s *store) Withhold(_ context.Context, _ listing.Version, run listing.Run, at time.Time) error {
	s.withheld, s.run, s.at = true, run, at
	return s.err
}

func (s *store) HandOver(_ context.Context, h listing.Handover, run listing.Run, at time.Time) error {
	s.handover, s.run, s.at = h, run, at
	return s.err
}

// message is an advert as a scraper sends it.
func message(platform, title string, cents int64, bedrooms string) string {
	return fmt.Sprintf(`{"platform": %q, "platform_id": "1329279535", "url": "https://example.org/1", "title": %q,
		"scraped_at": "2026-10-01T12:00:00Z", "price": {"amount_cents": %d, "type": "FIXED"},
		"attributes": {"numberbedrooms": [%q]}, "image_urls": ["https://img.example/1.jpg"]}`,
		platform, title, cents, bedrooms)
}

func TestNormalizeListingOfAnUnknownPlatform(t *testing.T) {
	t.Parallel()
	a := &activities.Listings{Store: &store{payload: message("nobody", "4½", 1, "2")}, Now: clock}
	unknown := listing.Ref{Platform: "nobody", PlatformID: "1"}
	_, err := step(t, a.NormalizeListing, activities.ListingJob{Ref: unknown})
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
	require.ErrorContains(t, err, `no normalizer for "nobody"`)
}

func TestNormalizeListing(t *testing.T) {
	t.Parallel()
	good := message("kijiji", "Beau 4 1/2 à louer", 120_000, "2")
	for _, tt := range []struct {
		name  string
		store store
		class fault.Class
		want  []string // the fields it is rejected for
	}{
		{"a good advert", store{payload: good}, "", nil},
		{"all that is missing", store{payload: `{"platform": "kijiji", "platform_id": "1329279535"}`}, fault.Invalid,
			[]string{"title", "price", "bedrooms"}},
		{"a payload that is no advert", store{payload: `{"title": 7}`}, fault.Invalid, nil},
		{"an advert that is not there", store{gone: fault.Newf(fault.Gone, "there is none")}, fault.Gone, nil},
		{"the database goes down before", store{gone: errAway}, fault.Transient, nil},
		{"the database goes down after", store{payload: good, err: errAway}, fault.Transient, nil},
		{"the database goes down at a rejection", store{payload: `{"platform": "kijiji"}`, err: errAway},
			fault.Transient, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := &activities.Listings{Store: &tt.store, Now: clock}
			job, err := step(t, a.NormalizeListing, activities.ListingJob{Ref: ref})
			require.Equal(t, tt.class, fault.ClassOf(err), "%v", err)
			var rejection *listing.Rejection
			require.Equal(t, tt.want != nil, errors.As(err, &rejection), "%v", err)
			switch {
			case err == nil:
				require.Equal(t, activities.ListingJob{Ref: ref, Revision: 3}, job)
				require.Equal(t, int64(120_000), tt.store.normalized.RentCents)
				require.Equal(t, 2, tt.store.normalized.Bedrooms)
				require.Equal(t, now, tt.store.normalized.ScrapedAt, "of the store, whatever the message says")
				require.Equal(t, now, tt.store.at)
				require.Nil(t, tt.store.rejection)
			case rejection != nil:
				require.Same(t, rejection, tt.store.rejection, "what is recorded is what is returned")
				var fields []string
				for _, r := range rejection.Reasons {
					fields = append(fields, r.Field)
					require.ErrorContains(t, err, r.Message)
				}
				require.ElementsMatch(t, tt.want, fields)
				require.Equal(t, testRun, tt.store.run)
			}
		})
	}
}

// A raw arrival and a newer one that came normalized by another team are one pass, which enters at normalize: it goes on
// with what is stored, here or at the team that does the next stage.
func TestNormalizeListingThatCameNormalized(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ours", "theirs"} {
		s := &store{payload: `{"listing": {}}`, staged: true}
		a := &activities.Listings{Store: s, Now: clock}
		run := a.NormalizeListing
		if name == "theirs" {
			run = a.HandOverListing
		}
		job, err := step(t, run, activities.ListingJob{Ref: ref, Stage: listing.StageNormalize})
		require.NoError(t, err, name)
		require.Equal(t, activities.ListingJob{Ref: ref, Revision: 3, Stage: listing.StageNormalize}, job, name)
		require.Zero(t, s.normalized, name)
		require.Zero(t, s.handover, name)
	}
}

// home is a listing that others can be the same as.
func home(platform, id string) listing.Listing {
	lat, lon := 45.52, -73.58
	return listing.Listing{
		Ref: listing.Ref{Platform: platform, PlatformID: id}, Title: "Beau 4½ rénové", RentCents: 150_000, Bedrooms: 2,
		Rooms: 4.5, Address: prose.ParseAddress("4200 rue Saint-Denis, Montréal"), Latitude: &lat, Longitude: &lon,
	}
}

// Steps read a version only where the step before has kept none, or the advert has changed since.
func TestStepsOnKeptVersions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		revision int64
		moved    bool
		loaded   int
	}{
		{"kept", 3, false, 0},
		{"changed since", 3, true, 1},
		{"kept of another revision", 4, false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			read := listing.Version{Listing: home(ref.Platform, ref.PlatformID), Revision: 5}
			kept := read
			kept.Revision, kept.Row = 3, 1
			s := &store{version: read, kept: &kept, moved: tt.moved}
			a := &activities.Listings{Store: s, Now: clock}
			for i, run := range []func(context.Context, activities.ListingJob) (activities.ListingJob, error){
				a.DedupeListing, a.ImportListing,
			} {
				job, err := step(t, run, activities.ListingJob{Ref: ref, Revision: tt.revision})
				require.NoError(t, err)
				require.Equal(t, tt.loaded*(i+1), s.loaded)
				require.Equal(t, int64(3+2*tt.loaded), job.Revision)
			}
		})
	}
}

func TestDedupeListing(t *testing.T) {
	t.Parallel()
	shown, older := uuid.New(), uuid.New()
	for _, tt := range []struct {
		name   string
		store  store
		want   activities.ListingJob
		class  fault.Class
		judged bool
	}{
		{"alone", store{home: listing.HomeJudgement{Alone: true}}, activities.ListingJob{}, "", true},
		{"the home on another platform", store{home: listing.HomeJudgement{Hidden: true, Shown: shown, RepostOf: older}},
			activities.ListingJob{Outcome: activities.Duplicate}, "", true},
		{"the home on this platform", store{home: listing.HomeJudgement{RepostOf: older}},
			activities.ListingJob{RepostOf: older}, "", true},
		{"it is shown for others", store{home: listing.HomeJudgement{Hide: []uuid.UUID{older}}}, activities.ListingJob{}, "",
			true},
		{"published already", store{version: listing.Version{Published: "active"},
			home: listing.HomeJudgement{Hidden: true}}, activities.ListingJob{Outcome: activities.Duplicate}, "", true},
		{"gone", store{version: listing.Version{Gone: true}, home: listing.HomeJudgement{Hidden: true}},
			activities.ListingJob{}, "", false},
		{"no normalized form", store{gone: fault.Newf(fault.Gone, "there is none")}, activities.ListingJob{}, fault.Gone,
			false},
		{"the database goes down", store{err: errAway}, activities.ListingJob{}, fault.Transient, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.store.version.Listing, tt.store.version.Revision = home(ref.Platform, ref.PlatformID), 3
			a := &activities.Listings{Store: &tt.store, Prefer: []string{"kangalou"}, Now: clock}
			job, err := step(t, a.DedupeListing, activities.ListingJob{Ref: ref})
			require.Equal(t, tt.class, fault.ClassOf(err), "%v", err)
			tt.want.Ref = ref
			if tt.store.gone == nil {
				tt.want.Revision = 3
			}
			require.Equal(t, tt.want, job)
			if tt.judged {
				require.Equal(t, a.Prefer, tt.store.prefer)
				require.Equal(t, testRun, tt.store.run)
				require.Equal(t, now, tt.store.at)
			} else {
				require.Zero(t, tt.store.run)
			}
		})
	}
}

// A listing that enters at the import although another is shown for its home stays a duplicate.
func TestImportListingThatIsHidden(t *testing.T) {
	t.Parallel()
	s := &store{version: listing.Version{Listing: home(ref.Platform, ref.PlatformID), Revision: 3, HiddenBy: uuid.New()}}
	a := &activities.Listings{Store: s, Now: clock}
	job, err := step(t, a.ImportListing, activities.ListingJob{Ref: ref})
	require.NoError(t, err)
	require.Equal(t, activities.ListingJob{Ref: ref, Revision: 3, Outcome: activities.Duplicate}, job)
	require.Equal(t, s.version.HiddenBy, s.duplicateOf)
	require.NotEmpty(t, s.reasons)
	require.Zero(t, s.publication)
}

func TestImportListing(t *testing.T) {
	t.Parallel()
	images := []listing.Image{{URL: "https://img.example/1.jpg"}}
	at := func(lat, lon float64) (*float64, *float64) { return &lat, &lon }
	for _, tt := range []struct {
		name          string
		lat, lon      float64
		located       bool
		neighbourhood string
		err           error
		class         fault.Class
	}{
		{"in Montréal", 45.6050, -73.5550, true, "anjou", nil, ""},
		{"in Québec", 46.81, -71.21, true, "", nil, ""},
		{"nowhere", 0, 0, false, "", nil, ""},
		{"the database goes down", 45.6050, -73.5550, true, "anjou", errAway, fault.Transient},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := home(ref.Platform, ref.PlatformID)
			l.Latitude, l.Longitude = nil, nil
			if tt.located {
				l.Latitude, l.Longitude = at(tt.lat, tt.lon)
			}
			s := &store{version: listing.Version{Listing: l, Revision: 3}, images: images, err: tt.err}
			a := &activities.Listings{Store: s, Now: clock}
			in := activities.ListingJob{Ref: ref, RepostOf: uuid.New()}
			job, err := step(t, a.ImportListing, in)
			require.Equal(t, tt.class, fault.ClassOf(err))
			require.Equal(t, listing.Publication{
				Version: s.version, RepostOf: in.RepostOf, Neighbourhood: tt.neighbourhood,
			}, s.publication)
			require.Equal(t, testRun, s.run)
			require.Equal(t, now, s.at)
			require.Equal(t, activities.ListingJob{
				Ref: ref, Revision: 3, RepostOf: in.RepostOf, Outcome: activities.Imported, Images: images,
			}, job)
		})
	}
	t.Run("images are off", func(t *testing.T) {
		t.Parallel()
		s := &store{version: listing.Version{Listing: home(ref.Platform, ref.PlatformID), Revision: 3}, images: images}
		a := &activities.Listings{Store: s, WithoutImages: true, Now: clock}
		job, err := step(t, a.ImportListing, activities.ListingJob{Ref: ref})
		require.NoError(t, err)
		require.Empty(t, job.Images)
		require.Equal(t, activities.Imported, job.Outcome)
	})
	t.Run("no normalized form", func(t *testing.T) {
		t.Parallel()
		a := &activities.Listings{Store: &store{gone: fault.Newf(fault.Gone, "there is none")}, Now: clock}
		_, err := step(t, a.ImportListing, activities.ListingJob{Ref: ref})
		require.Equal(t, fault.Gone, fault.ClassOf(err))
	})
}

// What its platform does not offer any more does not become visible, and neither does what is archived and was not
// scraped for long; what is visible stays so until it is archived.
func TestImportListingThatIsNotOffered(t *testing.T) {
	t.Parallel()
	long := now.Add(-49 * time.Hour)
	for _, tt := range []struct {
		name     string
		version  listing.Version
		withheld bool
	}{
		{"new", listing.Version{ScrapedAt: now}, false},
		{"new, of long ago", listing.Version{ScrapedAt: long}, false},
		{"new and gone", listing.Version{ScrapedAt: now, Gone: true}, true},
		{"back", listing.Version{Published: "archived", ScrapedAt: now}, false},
		{"archived, of long ago", listing.Version{Published: "archived", ScrapedAt: long}, true},
		{"archived and gone", listing.Version{Published: "archived", ScrapedAt: now, Gone: true}, true},
		{"visible and gone", listing.Version{Published: "active", ScrapedAt: long, Gone: true}, false},
		{"claimed and gone", listing.Version{Published: "claimed", ScrapedAt: long, Gone: true}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.version.Listing, tt.version.Revision = home(ref.Platform, ref.PlatformID), 3
			s := &store{version: tt.version, images: []listing.Image{{URL: "https://img.example/1.jpg"}}}
			a := &activities.Listings{Store: s, StaleAfter: 48 * time.Hour, Now: clock}
			job, err := step(t, a.ImportListing, activities.ListingJob{Ref: ref})
			require.NoError(t, err)
			require.Equal(t, tt.withheld, s.withheld)
			if !tt.withheld {
				require.Equal(t, activities.Imported, job.Outcome)
				return
			}
			require.Equal(t, activities.ListingJob{Ref: ref, Revision: 3, Outcome: activities.Withheld}, job)
			require.Zero(t, s.publication)
		})
	}
}

func TestHandOverListing(t *testing.T) {
	t.Parallel()
	l := home(ref.Platform, ref.PlatformID)
	l.URL, l.ScrapedAt = "https://example.org/1", now
	job := activities.ListingJob{Ref: ref, Revision: 3, Outcome: activities.Imported, Images: []listing.Image{
		{URL: "https://img.example/1.jpg"}, {URL: "https://img.example/2.jpg", SortOrder: 1},
	}}
	payload := message("kijiji", "4½", 1, "2")
	for _, tt := range []struct {
		stage, exchange, key, status, outcome string
		check                                 func(*testing.T, [][]byte)
	}{
		{"normalize", "scraped", "kijiji", "scraped", activities.HandedOn, func(t *testing.T, bodies [][]byte) {
			require.Len(t, bodies, 1)
			require.JSONEq(t, payload, string(bodies[0]), "as it came")
		}},
		{"dedupe", "listings", "listings.normalized", "normalized", activities.HandedOn, isStaged(l)},
		{"import", "listings", "listings.ready", "normalized", activities.HandedOn, isStaged(l)},
		{"images", "listings", "images.pending", "", activities.Imported, func(t *testing.T, bodies [][]byte) {
			require.Len(t, bodies, 2)
			for i, body := range bodies {
				m, err := contract.Decode[contract.PendingImage](body, contract.MaxBody)
				require.NoError(t, err)
				require.Equal(t, contract.PendingImage{
					ListingID: ref.ID().String(), Platform: ref.Platform, URL: job.Images[i].URL, SortOrder: i,
				}, m)
			}
		}},
	} {
		t.Run(tt.stage, func(t *testing.T) {
			t.Parallel()
			s := &store{payload: payload, version: listing.Version{Listing: l, Revision: 3}}
			a := &activities.Listings{Store: s, Now: clock}
			in := job
			in.Stage, in.Pass = tt.stage, 2
			out, err := step(t, a.HandOverListing, in)
			require.NoError(t, err)
			require.Equal(t, tt.outcome, out.Outcome)
			tt.check(t, s.handover.Bodies)
			s.handover.Bodies = nil
			require.Equal(t, listing.Handover{
				Ref: ref, Revision: 3, Exchange: tt.exchange, RoutingKey: tt.key, Status: tt.status, Pass: 2,
			}, s.handover)
			require.Equal(t, testRun, s.run)
		})
	}
	for name, tt := range map[string]struct {
		stage string
		store store
		class fault.Class
	}{
		"a stage that there is not":             {"translate", store{}, fault.Invalid},
		"nothing to normalize":                  {"normalize", store{gone: fault.Newf(fault.Gone, "none")}, fault.Gone},
		"nothing to dedupe":                     {"dedupe", store{gone: fault.Newf(fault.Gone, "none")}, fault.Gone},
		"the database goes down":                {"import", store{err: errAway}, fault.Transient},
		"the database goes down for the images": {"images", store{err: errAway}, fault.Transient},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &activities.Listings{Store: &tt.store, Now: clock}
			_, err := step(t, a.HandOverListing, activities.ListingJob{Ref: ref, Stage: tt.stage})
			require.Equal(t, tt.class, fault.ClassOf(err), "%v", err)
		})
	}
}

// isStaged checks that the one body is what another team's stage, and ours, can read.
func isStaged(want listing.Listing) func(*testing.T, [][]byte) {
	return func(t *testing.T, bodies [][]byte) {
		t.Helper()
		require.Len(t, bodies, 1)
		m, err := contract.Decode[contract.StagedListing](bodies[0], contract.MaxBody)
		require.NoError(t, err)
		var got listing.Listing
		require.NoError(t, json.Unmarshal(m.Listing, &got))
		require.Equal(t, want, got)
		require.Equal(t, want.URL, m.URL)
		require.EqualValues(t, 3, m.Revision)
	}
}
