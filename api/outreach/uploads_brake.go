package outreach

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/uuid"

	dboutreach "github.com/mtlrent/conveyor/db/outreach"
)

// The reasons why an upload is refused before its file is read.
const (
	refusedShare  = "tenant_backlog" // too much of the tenant waits
	refusedAge    = "tenant_age"     // what waits of the tenant does not move
	refusedAll    = "backlog"        // too much waits of all tenants
	refusedTaking = "concurrent"     // too many files are being received
	refusedSize   = "too_large"
	refusedBytes  = "tenant_bytes" // the tenant has as many bytes of files as it may
	refusedDisk   = "disk"         // little is free where files are stored
)

var uploadRefusals = []string{
	refusedShare, refusedAge, refusedAll, refusedTaking, refusedSize, refusedBytes, refusedDisk,
}

const (
	ageMost  = 30 * time.Minute // that chunks of a tenant may wait before its uploads are refused
	waitMost = 10 * time.Minute // of a Retry-After
)

// A brake refuses uploads while too much waits to be imported: of the tenant, and then of all. Once it refuses, it does
// so until the backlog has fallen to the low water, so that callers are not let in one by one. Files that are about to
// join the backlog count as if they had. What it remembers is of this process.
type brake struct {
	limits UploadLimits

	mu     sync.Mutex
	shut   map[string]bool // by tenant; "" = of all
	coming map[string]int  // chunks of files that were let in and are not in the backlog, in the same way
}

func newBrake(l UploadLimits) *brake {
	return &brake{limits: l, shut: map[string]bool{}, coming: map[string]int{}}
}

// reserve counts a file of so many bytes, below 0 = not known, until leave is called: when it is in the backlog, or
// will never be. It returns the chunks of the files that were reserved before it, of the tenant and of all. The
// backlog is read after that, so that no file is missing from both. A file of unknown length counts as the largest of
// its tenant, so that it comes alone, and among all as none, for most are small.
func (b *brake) reserve(tenant string, bytes int64) (own, all int, leave func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	own, all = b.coming[tenant], b.coming[""]
	mine, ofAll := dboutreach.ChunksOf(bytes), dboutreach.ChunksOf(bytes)
	if bytes < 0 {
		mine, ofAll = dboutreach.ChunksOf(b.limits.Bytes), 0
	}
	add := func(sign int) {
		b.coming[tenant] += sign * mine
		b.coming[""] += sign * ofAll
		maps.DeleteFunc(b.coming, func(_ string, n int) bool { return n == 0 })
	}
	add(1)
	return own, all, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		add(-1)
	}
}

// turnedAway says why an upload is refused, in a label and in words, and when it may be tried again.
type turnedAway struct {
	reason, says string
	wait         time.Duration
}

// check is nil where an upload may be accepted.
func (b *brake) check(tenant string, own, all dboutreach.Backlog) *turnedAway {
	b.mu.Lock()
	defer b.mu.Unlock()
	low := func(high int) int { return high * b.limits.Low / 100 }
	refuse := func(reason, says string, waiting dboutreach.Backlog, high int) *turnedAway {
		return &turnedAway{reason, says, min(waiting.Wait(low(high)), waitMost)}
	}
	switch {
	case b.full(tenant, own.Chunks, b.limits.Share):
		return refuse(refusedShare, fmt.Sprintf("%d chunks of 1,000 rows of the tenant %s wait to be imported", own.Chunks,
			tenant), own, b.limits.Share)
	case own.Oldest > ageMost:
		return refuse(refusedAge, fmt.Sprintf("an upload of the tenant %s has waited for %s; the imports are behind", tenant,
			own.Oldest.Round(time.Minute)), own, 0)
	case b.full("", all.Chunks, b.limits.All):
		return refuse(refusedAll, "too many chunks of 1,000 rows of all tenants wait to be imported", all, b.limits.All)
	}
	return nil
}

// full says whether a backlog is above its high water, or was and is not yet at the low one.
func (b *brake) full(name string, chunks, high int) bool {
	switch {
	case chunks >= high:
		b.shut[name] = true
	case chunks <= high*b.limits.Low/100:
		delete(b.shut, name)
	}
	return b.shut[name]
}

// room is how many bytes a file of the tenant may have. Its error is the answer when there is no room for one of so
// many bytes, below 0 = not known.
func (h Uploads) room(ctx context.Context, tenant string, bytes int64) (int64, error) {
	if h.Free != nil {
		free, err := h.Free(ctx)
		if err != nil {
			return 0, err
		}
		if free < h.Limits.Reserve+max(bytes, 0) {
			return 0, h.refuse(&turnedAway{refusedDisk, "little disk space is free where files are stored", waitMost})
		}
	}
	left, err := h.Store.Room(ctx, tenant, uuid.Nil)
	if err != nil || left == nil {
		return h.Limits.Bytes, err
	}
	if *left <= 0 || bytes-formMargin > *left {
		return 0, h.noRoom()
	}
	return min(h.Limits.Bytes, *left), nil
}

func (h Uploads) noRoom() error {
	h.refused.WithLabelValues(refusedBytes).Inc()
	return huma.NewError(http.StatusRequestEntityTooLarge, "the tenant's files would have more bytes than its quota "+
		"max_bytes allows; files are deleted some time after their import, and an operator can raise the quota")
}

// admit lets a file of so many bytes in, below 0 = not known: call leave when its row says that it waits, or when it
// will not. Its error is the answer while too much waits.
func (h Uploads) admit(ctx context.Context, tenant string, bytes int64) (leave func(), err error) {
	ownComing, allComing, leave := h.brake.reserve(tenant, bytes)
	own, all, err := h.Store.Backlog(ctx, tenant, h.door.Now())
	if err == nil {
		own.Chunks, all.Chunks = own.Chunks+ownComing, all.Chunks+allComing
		if r := h.brake.check(tenant, own, all); r != nil {
			err = h.refuse(r)
		}
	}
	if err != nil {
		leave()
		return nil, err
	}
	return leave, nil
}
