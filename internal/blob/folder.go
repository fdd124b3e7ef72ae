package blob

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
)

// A sight is what a look at the folder of a store has found once done is closed.
type sight struct {
	done chan struct{}
	away bool // there is nothing in it, or no folder: it is not mounted, or was moved away
	free int64
	err  error // why free is not known
}

// see looks at the folder of a store, for lookWithin at most. A mount that does not answer keeps the goroutine that
// asks it, and a thread, until it does, so there is one at a time, and whoever comes meanwhile waits for its answer.
func (s *Store) see(ctx context.Context) (*sight, error) {
	s.seeing.Lock()
	is := s.seen
	if is == nil {
		is = &sight{done: make(chan struct{})}
		s.seen = is
		go func() { // ends with the answer
			is.away = empty(s.dir)
			is.free, is.err = free(s.dir)
			s.seeing.Lock()
			defer s.seeing.Unlock()
			s.seen = nil
			close(is.done)
		}()
	}
	s.seeing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	select {
	case <-is.done:
		return is, nil
	case <-ctx.Done():
		return nil, fault.Newf(fault.Transient, "%s does not answer: what is mounted there may be away", s.dir)
	}
}

// mounted is Mounted until ctx ends.
func (s *Store) mounted(ctx context.Context) error {
	if s.dir == "" {
		return nil
	}
	is, err := s.see(ctx)
	if err == nil && is.away {
		err = fault.Newf(fault.Transient, "%s is empty or missing: it may not be mounted, or conveyor bootstrap was not "+
			"run where it is", s.dir)
	}
	return err
}

// Beside has what is free elsewhere count as what is free in the folder of the store, where it is less: that of a disk
// which fills up with what is stored here. Call it before the store is used.
func (s *Store) Beside(free func(context.Context) int64) { s.beside = free }

// Free is how many bytes are free in the folder of the store; of a bucket, or where nobody can say, as many as there
// are. Where fewer are free elsewhere, it is those.
func (s *Store) Free(ctx context.Context) (int64, error) {
	elsewhere := int64(math.MaxInt64)
	if s.beside != nil {
		elsewhere = s.beside(ctx)
	}
	if s.dir == "" {
		return elsewhere, nil
	}
	is, err := s.see(ctx)
	if err == nil {
		err = is.err
	}
	if err != nil {
		return 0, fmt.Errorf("find free space of %s: %w", s.dir, err)
	}
	return min(is.free, elsewhere), nil
}

// roomAgain is when it is looked again for room.
const roomAgain = time.Minute

// KeepFree has what would leave fewer than so many bytes free in the folder of the store wait for room: decoded copies,
// pictures and records of crawls; rows of imports have half of it. Files of drafts, which are a dead letter where they
// cannot be kept, and uploads, for which the caller looks, may take it all. Call it before the store is used.
func (s *Store) KeepFree(bytes int64) { s.reserve = bytes }

// Room is fault.Limited while less than the reserve of KeepFree is free in the folder of the store.
func (s *Store) Room(ctx context.Context) error { return s.leaves(ctx, 0, s.reserve) }

// leaves is fault.Limited where a file of so many bytes leaves less than a reserve free.
func (s *Store) leaves(ctx context.Context, bytes, reserve int64) error {
	if reserve == 0 {
		return nil
	}
	free, err := s.Free(ctx)
	if err != nil || free-bytes >= reserve {
		return err
	}
	return &fault.Error{Class: fault.Limited, After: roomAgain, Err: errors.New("less is free where files are stored, " +
		"or for Postgres, than CONVEYOR_UPLOAD_RESERVE; it waits for room")}
}

// empty says that a folder has nothing in it, or is none.
func empty(dir string) bool {
	d, err := os.Open(dir)
	if err != nil {
		return true
	}
	defer func() { _ = d.Close() }()
	names, _ := d.Readdirnames(1)
	return len(names) == 0
}
