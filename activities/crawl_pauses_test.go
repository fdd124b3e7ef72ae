package activities_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"

	"github.com/mtlrent/conveyor/activities"
	"github.com/mtlrent/conveyor/domain/crawl"
)

// pausedMeanwhile is a frontier whose run was paused so often before the slice of a claim.
type pausedMeanwhile struct {
	*crawled
	pauses int
}

func (p *pausedMeanwhile) Claim(_ context.Context, t crawl.Take) ([]crawl.Claim, string, error) {
	p.pauses = t.Pauses
	return nil, crawl.Paused, nil
}

// A shard that had to wait for a slot while its run was paused and resumed belongs to the slice before the pause.
func TestCrawlShardOfASliceBeforeAPause(t *testing.T) {
	t.Parallel()
	p := &pausedMeanwhile{crawled: newCrawled(t)}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	a := &activities.Crawling{Frontier: p, Worker: "w", Now: time.Now}
	env.RegisterActivity(a)
	_, err := env.ExecuteActivity(a.CrawlShard, activities.CrawlShardJob{RunID: 7, Slice: time.Minute, Pauses: new(4)})
	require.NoError(t, err)
	require.Equal(t, 4, p.pauses)
}
