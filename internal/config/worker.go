package config

import (
	"fmt"
	"time"
)

// Worker bounds the work of one worker process.
type Worker struct {
	Queues     []string      `env:"CONVEYOR_TASK_QUEUES" doc:"task queues that the worker serves, by commas; the pages of rental sites need Chromium, product drafts need the one at CHROME_DEVTOOLS_URL" validate:"dive,taskqueue"`
	Unused     []string      `env:"CONVEYOR_UNUSED_TASK_QUEUES" envDefault:"" doc:"task queues that are meant to have no worker in this installation, by commas: GET /ready, conveyor status and the alerts do not report them. Workers without a Chromium say by themselves that they do not serve drafts" validate:"dive,taskqueue"`
	StoreSlots int           `env:"CONVEYOR_STORE_SLOTS" envDefault:"20" doc:"database steps at once; at most CONVEYOR_DB_MAX_CONNS"`
	ImageSlots int           `env:"CONVEYOR_IMAGE_SLOTS" envDefault:"32" doc:"image downloads at once" validate:"min=1"`
	Scrapes    int           `env:"CONVEYOR_SCRAPE_SLOTS" envDefault:"16" doc:"search pages of rental sites processed at once; most of the time they wait for their turn" validate:"min=1"`
	StopGrace  time.Duration `env:"CONVEYOR_STOP_GRACE" envDefault:"15s" doc:"time that running work has to finish at shutdown" validate:"min=0"`
}

// check tests that database steps have connections.
func (w Worker) check(c Config) []string {
	if w.StoreSlots < 1 || w.StoreSlots > int(c.Postgres.MaxConns) {
		return []string{fmt.Sprintf("CONVEYOR_STORE_SLOTS is %d, expected 1 to CONVEYOR_DB_MAX_CONNS (%d)", w.StoreSlots, c.Postgres.MaxConns)}
	}
	return nil
}
