package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"golang.org/x/sync/errgroup"

	"github.com/mtlrent/conveyor/domain/listing"
)

const (
	textbookID    = "textbook/"
	textbookQueue = "textbook"
)

// textbookActivities are the three steps as the tutorials write them: regular activities that pass the listing on.
type textbookActivities struct {
	*yardstick
	channels sync.Pool // a channel is one goroutine's at a time
}

// Normalize, Save and Publish are the steps.
func (a *textbookActivities) Normalize(ctx context.Context, body []byte) (listing.Listing, error) {
	return a.normalize(ctx, body)
}

func (a *textbookActivities) Save(ctx context.Context, l listing.Listing) error {
	return a.save(ctx, l)
}

func (a *textbookActivities) Publish(ctx context.Context, l listing.Listing) error {
	ch, ok := a.channels.Get().(*amqp.Channel)
	if !ok {
		var err error
		if ch, err = a.broker.Channel(); err != nil {
			return err
		}
		if err := ch.Confirm(false); err != nil {
			return err
		}
	}
	defer a.channels.Put(ch)
	return tell(ctx, ch, l)
}

// textbookListing is the workflow of the tutorials.
func textbookListing(ctx workflow.Context, body []byte) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: 10 * time.Second})
	var a *textbookActivities
	var l listing.Listing
	if err := workflow.ExecuteActivity(ctx, a.Normalize, body).Get(ctx, &l); err != nil {
		return err
	}
	if err := workflow.ExecuteActivity(ctx, a.Save, l).Get(ctx, nil); err != nil {
		return err
	}
	return workflow.ExecuteActivity(ctx, a.Publish, l).Get(ctx, nil)
}

// textbook starts a workflow for each message of the queue, and works on them with default options.
func (y *yardstick) textbook(ctx context.Context) error {
	o, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return err
	}
	c, err := client.Dial(o)
	if err != nil {
		return err
	}
	defer c.Close()
	w := worker.New(c, textbookQueue, worker.Options{})
	w.RegisterWorkflow(textbookListing)
	w.RegisterActivity(&textbookActivities{yardstick: y})
	if err := w.Start(); err != nil {
		return err
	}
	defer w.Stop()
	work, ctx := errgroup.WithContext(ctx)
	work.Go(func() error {
		return y.consume(ctx, yardScraped, 16, func(ctx context.Context, _ *amqp.Channel, body []byte) error {
			var raw listing.Raw
			if err := json.Unmarshal(body, &raw); err != nil {
				return err
			}
			_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
				ID: fmt.Sprint(textbookID, raw.PlatformID), TaskQueue: textbookQueue,
			}, textbookListing, body)
			return err
		})
	})
	return work.Wait()
}
