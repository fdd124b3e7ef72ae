package limit

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/mtlrent/conveyor/domain/backlog"
)

// The line of a limiter is a sorted set of the hosts that callers wait for, scored by when their next turn is free, in
// Unix milliseconds. A score in the past means that no caller waits any more.
func line(limiter string) string { return "line:" + limiter }

// lineTTL removes the line of a limiter that is no longer used.
const lineTTL = time.Hour

// tell records for Waits when the next turn of a host is free. Only a caller that has to wait does so, during its wait;
// a failure does not affect the limit.
func tell(rdb redis.UniversalClient, limiter, host string, free time.Time, timeout time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	p := rdb.Pipeline()
	// The later time wins: callers may come here in another order than they asked in.
	p.ZAddGT(ctx, line(limiter), redis.Z{Score: float64(free.UnixMilli()), Member: host})
	p.Expire(ctx, line(limiter), lineTTL)
	_, _ = p.Exec(ctx)
}

// Waits returns the hosts that a limiter of that name, in whichever process, holds back now, up to most of them: those
// with the longest wait. While Redis is down there is no common line, and this is an error.
func Waits(ctx context.Context, rdb redis.UniversalClient, name string, most int, now time.Time) (
	[]backlog.Host, error) {
	ms := strconv.FormatInt(now.UnixMilli(), 10)
	p := rdb.Pipeline()
	p.ZRemRangeByScore(ctx, line(name), "-inf", ms)
	far := p.ZRevRangeWithScores(ctx, line(name), 0, int64(most)-1)
	if _, err := p.Exec(ctx); err != nil {
		return nil, fmt.Errorf("read the line for %s: %w", name, err)
	}
	out := make([]backlog.Host, 0, len(far.Val()))
	for _, z := range far.Val() {
		host, _ := z.Member.(string)
		out = append(out, backlog.Host{
			Limiter: name, Host: host, WaitSeconds: time.UnixMilli(int64(z.Score)).Sub(now).Seconds(),
		})
	}
	return out, nil
}
