package activities_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/web"
)

var quiet = slog.New(slog.DiscardHandler)

// gallery fakes every dependency of the image activity: table, image host and blob store.
type gallery struct {
	state    string
	attempts int // failed ones so far
	begun    int // fetches in a row that did not end
	fetch    error
	fails    map[string]error // by the name of the method

	fetched  int
	attached *listing.StoredImage
	reason   string
	failed   fault.Class
	run      listing.Run
	at       time.Time
}

func (g *gallery) BeginImage(context.Context, uuid.UUID, string) (int, error) {
	if g.state != "pending" {
		return 0, g.fails["begin"]
	}
	g.begun++
	return g.begun, g.fails["begin"]
}

func (g *gallery) EndImage(ctx context.Context, _ uuid.UUID, _ string) error {
	if g.fails["end"] == nil {
		g.begun = 0
	}
	return errors.Join(ctx.Err(), g.fails["end"])
}

func (g *gallery) AttachImage(_ context.Context, _ listing.Ref, img listing.StoredImage, at time.Time) error {
	if g.fails["attach"] == nil {
		g.begun = 0
	}
	g.attached, g.at = &img, at
	return g.fails["attach"]
}

func (g *gallery) CountImageAttempt(_ context.Context, _ uuid.UUID, _, reason string) (int, error) {
	g.attempts++
	if g.fails["count"] == nil {
		g.begun = 0
	}
	g.reason = reason
	return g.attempts, g.fails["count"]
}

func (g *gallery) FailImage(_ context.Context, _ listing.Ref, _ listing.Image, class fault.Class, reason string,
	run listing.Run, at time.Time) error {
	g.failed, g.reason, g.run, g.at, g.begun = class, reason, run, at, 0
	return g.fails["fail"]
}

func (g *gallery) Photo(context.Context, string) (web.Photo, error) {
	g.fetched++
	if g.begun == 0 {
		return web.Photo{}, errors.New("the fetch was not counted before it began")
	}
	if g.fetch != nil {
		return web.Photo{}, g.fetch
	}
	return web.Photo{
		Data: []byte("picture"), ContentType: "image/png", Ext: "png", Width: 4, Height: 3, Thumbnail: []byte("small"),
		Perceptual: 1 << 63,
	}, nil
}

func (g *gallery) Room(context.Context) error { return g.fails["room"] }

func (g *gallery) PutImage(_ context.Context, data []byte, ext string) (key, sum string, err error) {
	return "images/" + string(data) + "." + ext, "abcd", g.fails["put"]
}

func (g *gallery) PutThumbnail(_ context.Context, key string, data []byte) (string, error) {
	return "thumbs/" + string(data) + " of " + key, g.fails["thumbnail"]
}

var imageJob = activities.ImageJob{Ref: ref, Image: listing.Image{URL: "https://img.example/1.png", SortOrder: 2}}

// attach runs the activity over g; stopped says that the worker is going down meanwhile.
func attach(t *testing.T, g *gallery, stopped bool) error {
	t.Helper()

	a := &activities.Images{Store: g, Source: g, Blobs: g, Now: clock}
	return do(t, func(ctx context.Context) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		if stopped {
			cancel()
		}
		return a.AttachImage(ctx, imageJob)
	})
}

func TestAttachImage(t *testing.T) {
	t.Parallel()
	g := &gallery{state: "pending"}
	require.NoError(t, attach(t, g, false))
	require.Equal(t, &listing.StoredImage{
		Image: imageJob.Image, SHA256: "abcd", Key: "images/picture.png",
		ThumbnailKey: "thumbs/small of images/picture.png", ContentType: "image/png", Bytes: 7, Width: 4, Height: 3,
		Perceptual: 1 << 63,
	}, g.attached)
	require.Equal(t, now, g.at)
	require.Zero(t, g.attempts)
}

// While there is no room, no host is asked for a picture that could not be kept, and it costs no attempt.
func TestAttachImageWaitsForRoom(t *testing.T) {
	t.Parallel()
	full := &fault.Error{Class: fault.Limited, After: time.Minute, Err: errors.New("it waits for room")}
	for _, at := range []string{"room", "put", "thumbnail"} {
		g := &gallery{state: "pending", fails: map[string]error{at: full}}
		require.ErrorIs(t, attach(t, g, false), full, at)
		require.Equal(t, at != "room", g.fetched > 0, at)
		require.Zero(t, g.attempts, at)
		require.Zero(t, g.begun, at)
		require.Empty(t, g.failed, at)
	}
}

// An image at which one worker after another dies is given up before it kills a fourth one.
func TestAttachImageThatKills(t *testing.T) {
	t.Parallel()
	g := &gallery{state: "pending", begun: 2}
	require.NoError(t, attach(t, g, false), "two workers died, the third did not")
	require.Zero(t, g.begun)
	g = &gallery{state: "pending", begun: 3}
	err := attach(t, g, false)
	require.Equal(t, fault.Invalid, fault.ClassOf(err))
	require.Equal(t, fault.Invalid, g.failed, "it is a dead letter")
	require.Contains(t, g.reason, "the last 3 workers that fetched it died")
	require.Zero(t, g.fetched)
	require.Equal(t, testRun, g.run)
	g = &gallery{state: "pending", begun: 3, fails: map[string]error{"fail": errAway}}
	require.ErrorIs(t, attach(t, g, false), errAway)
}

// A store that is away at the end of each fetch does not make the image one at which workers die: a try that lives says
// so to the next one.
func TestAttachImageStoreComesAndGoes(t *testing.T) {
	t.Parallel()
	for name, fetch := range map[string]error{"a picture": nil, "none": fault.Newf(fault.Transient, "HTTP 502")} {
		g := &gallery{state: "pending", fetch: fetch, fails: map[string]error{}}
		a := &activities.Images{Store: g, Source: away{g}, Blobs: g, Now: clock}
		pulse := new(pulsed)
		for range 5 {
			clear(g.fails)
			require.ErrorIs(t, pulse.try(t, func(ctx context.Context) error { return a.AttachImage(ctx, imageJob) }), errAway, name)
			require.Empty(t, g.failed, name)
			require.Equal(t, 1, g.begun, name)
		}
		clear(g.fails)
		a.Source, g.fetch = g, nil
		require.NoError(t, pulse.try(t, func(ctx context.Context) error { return a.AttachImage(ctx, imageJob) }), name)
		require.Empty(t, pulse.said, "what kills later workers is counted")
	}
}

// away is a host during whose answers our database goes away.
type away struct{ *gallery }

func (a away) Photo(ctx context.Context, url string) (web.Photo, error) {
	a.fails["end"], a.fails["attach"], a.fails["count"] = errAway, errAway, errAway
	return a.gallery.Photo(ctx, url)
}

// A fetch that is cut off by the end of its worker, which was asked to stop, is no death, however often that happens.
func TestAttachImageCutOff(t *testing.T) {
	t.Parallel()
	g := &gallery{state: "pending", fails: map[string]error{}}
	a, pulse := &activities.Images{Store: g, Blobs: g, Now: clock}, new(pulsed)
	for range 5 {
		clear(g.fails)
		pulse.cutOff(t, func(ctx context.Context, stop func()) error {
			ctx, end := context.WithCancel(ctx)
			defer end()
			a.Source = endless{g, func() {
				stop()
				g.fails["end"] = errAway // its process is gone
				end()
			}}
			return a.AttachImage(ctx, imageJob)
		})
		require.Empty(t, g.failed)
		require.Equal(t, 1, g.begun)
	}
	clear(g.fails)
	a.Source = g
	require.NoError(t, pulse.try(t, func(ctx context.Context) error { return a.AttachImage(ctx, imageJob) }))
	require.Equal(t, 6, g.fetched)
	require.Empty(t, pulse.said, "what kills later workers is counted")
}

// endless is a host whose answer ends with the worker.
type endless struct {
	*gallery
	end func()
}

func (e endless) Photo(ctx context.Context, _ string) (web.Photo, error) {
	e.fetched++
	e.end()
	return web.Photo{}, ctx.Err()
}

// An image that is settled sends its host no request.
func TestAttachImageSettled(t *testing.T) {
	t.Parallel()
	for _, state := range []string{"attached", "repeated", "failed", "dropped", ""} {
		g := &gallery{state: state}
		require.NoError(t, attach(t, g, false), state)
		require.Zero(t, g.fetched, state)
		require.Nil(t, g.attached, state)
	}
}

func TestAttachImageMissed(t *testing.T) {
	t.Parallel()
	throttled := &fault.Error{Class: fault.Throttled, After: time.Minute, Err: errors.New("HTTP 429")}
	for _, tt := range []struct {
		name     string
		fetch    error
		before   int // failed attempts
		stopped  bool
		class    fault.Class // of what the activity returns
		attempts int         // counted in the end
		failed   fault.Class // of the dead letter
	}{
		{"the first time", fault.Newf(fault.Transient, "HTTP 502"), 0, false, fault.Transient, 1, ""},
		{"the last time but one", fault.Newf(fault.Transient, "HTTP 502"), 3, false, fault.Transient, 4, ""},
		{"the last time", fault.Newf(fault.Transient, "HTTP 502"), 4, false, fault.Gone, 5, fault.Transient},
		{"after the last time", fault.Newf(fault.Transient, "HTTP 502"), 5, false, fault.Gone, 6, fault.Transient},
		{"not classified", errAway, 4, false, fault.Gone, 5, fault.Transient},
		{"throttled has more", throttled, 4, false, fault.Throttled, 5, ""},
		{"throttled to the end", throttled, 7, false, fault.Gone, 8, fault.Throttled},
		{"not there", fault.Newf(fault.Gone, "HTTP 404"), 0, false, fault.Gone, 1, fault.Gone},
		{"not a picture", fault.Newf(fault.Invalid, "it is HTML"), 0, false, fault.Invalid, 1, fault.Invalid},
		{"a private address", fault.Newf(fault.Blocked, "10.0.0.1"), 0, false, fault.Blocked, 1, fault.Blocked},
		{"not its turn", fault.Newf(fault.Limited, "in 2 min"), 4, false, fault.Limited, 4, ""},
		{"the worker stops", context.Canceled, 4, true, fault.Transient, 4, ""},
		{"the worker stops, and half a picture is none", fault.Newf(fault.Invalid, "it is cut off"), 0, true,
			fault.Transient, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := &gallery{state: "pending", fetch: tt.fetch, attempts: tt.before}
			err := attach(t, g, tt.stopped)
			require.ErrorIs(t, err, tt.fetch, "the cause is told")
			class, after := fault.Of(err)
			require.Equal(t, tt.class, class)
			if class == fault.Throttled {
				require.Equal(t, time.Minute, after)
			}
			require.Equal(t, tt.attempts, g.attempts)
			require.Zero(t, g.begun, "the worker has not died")
			require.Equal(t, tt.failed, g.failed)
			require.Nil(t, g.attached)
			if tt.failed != "" {
				require.Equal(t, tt.fetch.Error(), g.reason)
				require.Equal(t, testRun, g.run)
				require.Equal(t, now, g.at)
			}
		})
	}
}

// A failure of our own stores is no failure of the image: it is neither counted nor given up.
func TestAttachImageStoreAway(t *testing.T) {
	t.Parallel()
	gone := fault.Newf(fault.Gone, "HTTP 404")
	for _, tt := range []struct {
		name     string
		call     string
		fetch    error
		attempts int
	}{
		{"counting that it begins", "begin", nil, 0},
		{"storing the picture", "put", nil, 0},
		{"storing the thumbnail", "thumbnail", nil, 0},
		{"attaching", "attach", nil, 0},
		{"counting", "count", gone, 1},
		{"giving up", "fail", gone, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := &gallery{state: "pending", fetch: tt.fetch, fails: map[string]error{tt.call: errAway}}
			err := attach(t, g, false)
			require.ErrorIs(t, err, errAway)
			require.Equal(t, fault.Transient, fault.ClassOf(err), "it is tried again")
			require.Equal(t, tt.attempts, g.attempts)
		})
	}
}
