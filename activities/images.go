package activities

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/domain/web"
)

// Images are the activities that talk to foreign image hosts.
type Images struct {
	Store  ImageStore
	Source ImageSource
	Blobs  ImageBlobs
	Now    func() time.Time
}

// ImageStore stores the state of a listing's images.
type ImageStore interface {
	// BeginImage returns how many fetches of an image have begun in a row and not ended, this one included; 0 when it is
	// not to be fetched. All other methods end a fetch.
	BeginImage(ctx context.Context, id uuid.UUID, url string) (begun int, err error)
	EndImage(ctx context.Context, id uuid.UUID, url string) error // for a reason that is not the image's
	AttachImage(ctx context.Context, ref listing.Ref, img listing.StoredImage, now time.Time) error
	CountImageAttempt(ctx context.Context, id uuid.UUID, url, reason string) (attempts int, err error)
	FailImage(ctx context.Context, ref listing.Ref, img listing.Image, class fault.Class, reason string,
		run listing.Run, now time.Time) error
}

// ImageSource downloads an image from a foreign host, when it is that host's turn. The class of its faults decides
// whether the download is retried; fault.Limited means that the turn is too far off to wait for.
type ImageSource interface {
	Photo(ctx context.Context, url string) (web.Photo, error)
}

// ImageBlobs keeps bytes under a key made of their content; storing them twice is storing them once.
type ImageBlobs interface {
	// Room is fault.Limited while there is no room for pictures.
	Room(ctx context.Context) error
	PutImage(ctx context.Context, data []byte, ext string) (key, sum string, err error)
	PutThumbnail(ctx context.Context, key string, data []byte) (thumbnailKey string, err error)
}

// ImageJob names one image of one listing.
type ImageJob struct {
	Ref   listing.Ref   `json:"ref"`
	Image listing.Image `json:"image"`
}

// fetchTimeout is how long a host's turn and its download may take, redirects included.
const fetchTimeout = 90 * time.Second

// mostDeaths is how many workers in a row may die while they fetch an image, or in all while they make a draft, before
// it is given up.
const mostDeaths = 3

// AttachImage downloads an image and shows it with its listing. Failed fetches are counted in the table; when the
// fault's class allows no more, the image becomes a dead letter, here and not in the workflow, so that an image that
// came by message ends the same way. Failures of our own stores are retried without end; while there is no room for
// pictures, none is downloaded. A fetch is counted before it
// begins, so that an image that kills its worker each time ends as well; a worker that stops takes that back.
func (a *Images) AttachImage(ctx context.Context, job ImageJob) error {
	entered(ctx, listing.StageImages, job.Ref)
	id, img := job.Ref.ID(), job.Image
	if err := a.Blobs.Room(ctx); err != nil {
		return fmt.Errorf("fetch image of %s: %w", job.Ref, err)
	}
	begun, err := countTry(ctx, func() error { return a.Store.EndImage(ctx, id, img.URL) }, func() (int, error) {
		return a.Store.BeginImage(ctx, id, img.URL)
	})
	switch {
	case err != nil:
		return err
	case begun == 0:
		left(ctx, listing.StageImages, job.Ref, imageUnwanted)
		return nil
	case begun > mostDeaths:
		cause := fault.Newf(fault.Invalid, "the last %d workers that fetched it died meanwhile", mostDeaths)
		if err := a.giveUp(ctx, job, fault.Invalid, cause.Error()); err != nil {
			return err
		}
		return cause
	}
	defer tellUntold(ctx)() // it may be cut off before it can be spared
	// Less than the whole try may take, so that a slow host's failure is counted and not only cut off.
	fetching, done := context.WithTimeout(ctx, fetchTimeout)
	defer done()
	photo, err := a.Source.Photo(fetching, img.URL)
	if err != nil {
		return a.missed(ctx, job, err)
	}
	stored := listing.StoredImage{
		Image: img, ContentType: photo.ContentType, Bytes: int64(len(photo.Data)), Width: photo.Width, Height: photo.Height,
		Perceptual: photo.Perceptual,
	}
	if stored.Key, stored.SHA256, err = a.Blobs.PutImage(ctx, photo.Data, photo.Ext); err != nil {
		return a.spared(ctx, job, fmt.Errorf("store image of %s: %w", job.Ref, err))
	}
	if stored.ThumbnailKey, err = a.Blobs.PutThumbnail(ctx, stored.Key, photo.Thumbnail); err != nil {
		return a.spared(ctx, job, fmt.Errorf("store thumbnail of %s: %w", job.Ref, err))
	}
	if err := a.Store.AttachImage(ctx, job.Ref, stored, a.Now()); err != nil {
		return a.spared(ctx, job, err)
	}
	left(ctx, listing.StageImages, job.Ref, imageAttached)
	return nil
}

// missed counts a failed fetch and gives the image up when its class has no attempt left.
func (a *Images) missed(ctx context.Context, job ImageJob, cause error) error {
	if ctx.Err() != nil { // the cause is the stop, not the image
		return a.spared(ctx, job, &fault.Error{Class: fault.Transient, Err: fmt.Errorf("stopped in the middle: %w", cause)})
	}
	class := fault.ClassOf(cause)
	if class == fault.Limited { // our own limit, not a failure of the host
		return a.spared(ctx, job, cause)
	}
	attempts, err := a.Store.CountImageAttempt(ctx, job.Ref.ID(), job.Image.URL, cause.Error())
	if err != nil {
		return a.spared(ctx, job, err)
	}
	if most, _, _ := class.Retry(); attempts < most {
		return cause
	}
	if err := a.giveUp(ctx, job, class, cause.Error()); err != nil {
		return err
	}
	if class.Final() {
		return cause
	}
	return &fault.Error{Class: fault.Gone, Err: fmt.Errorf("gave up after %d attempts: %w", attempts, cause)}
}

// spared ends a fetch for a reason that is not the image's, and returns that reason.
func (a *Images) spared(ctx context.Context, job ImageJob, reason error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if a.Store.EndImage(ctx, job.Ref.ID(), job.Image.URL) != nil { // the store may be the reason
		tellAlive(ctx)
	}
	return reason
}

func (a *Images) giveUp(ctx context.Context, job ImageJob, class fault.Class, reason string) error {
	if err := a.Store.FailImage(ctx, job.Ref, job.Image, class, reason, run(ctx), a.Now()); err != nil {
		return err
	}
	left(ctx, listing.StageImages, job.Ref, imageFailed, string(class))
	return nil
}
