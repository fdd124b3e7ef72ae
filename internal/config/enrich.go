package config

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/listing"
	"github.com/mtlrent/conveyor/internal/model"
)

// Enrich is what listings are enriched with, where CONVEYOR_ENRICH is here.
type Enrich struct {
	URL         string        `env:"CONVEYOR_ENRICH_URL" envDefault:"" secret:"url" doc:"URL of an OpenAI-compatible API up to its version, such as https://host/v1, whose language model reads published adverts as well; their text is sent there, with telephone numbers and e-mail addresses masked; empty = no model. http:// on the loopback interface, or with CONVEYOR_DEMO"`
	Key         string        `env:"CONVEYOR_ENRICH_KEY" envDefault:"" secret:"all" doc:"key of that API, sent as a bearer token"`
	Model       string        `env:"CONVEYOR_ENRICH_MODEL" envDefault:"" doc:"name of the language model; needed with CONVEYOR_ENRICH_URL"`
	Daily       int           `env:"CONVEYOR_ENRICH_DAILY" envDefault:"500" doc:"questions that the language model is asked a day (UTC), by all processes together" validate:"min=0"`
	Timeout     time.Duration `env:"CONVEYOR_ENRICH_TIMEOUT" envDefault:"30s" doc:"time that one question to the language model may take, 1s to 90s" validate:"min=1s,max=90s"`
	Places      []string      `env:"CONVEYOR_ENRICH_PLACES" envDefault:"" doc:"files of places that listings are near, kind=path by commas: metro=/data/metro.geojson,school=/data/schools.csv; GeoJSON points with a name, CSV with columns name, latitude and longitude, or stops.txt of GTFS"`
	Attribution string        `env:"CONVEYOR_ENRICH_PLACES_ATTRIBUTION" envDefault:"" doc:"whose data the places are, and under which licence: shown with them; needed with CONVEYOR_ENRICH_PLACES"`
}

// check implements checker.
func (e Enrich) check(c Config) (wrong []string) {
	for _, p := range e.Places {
		if kind, path, ok := strings.Cut(p, "="); !ok || !listing.ValidPlaceKind(kind) || path == "" {
			wrong = append(wrong, fmt.Sprintf("CONVEYOR_ENRICH_PLACES has %q, expected kind=path, such as "+
				"metro=/data/metro.geojson", p))
		}
	}
	if len(e.Places) > 0 && e.Attribution == "" {
		wrong = append(wrong, "CONVEYOR_ENRICH_PLACES_ATTRIBUTION is not set, but CONVEYOR_ENRICH_PLACES is: say whose data "+
			"the places are, and under which licence")
	}
	if e.URL == "" {
		return wrong
	}
	if _, err := model.New(e.Options()); err != nil {
		return append(wrong, "CONVEYOR_ENRICH_URL: "+err.Error())
	}
	if u, err := url.Parse(e.URL); err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) && !c.Images.Demo {
		wrong = append(wrong, "CONVEYOR_ENRICH_URL begins with http://, by which adverts and the key would travel in clear text")
	}
	return wrong
}

// Options are those of a client.
func (e Enrich) Options() model.Options {
	return model.Options{URL: e.URL, Key: e.Key, Model: e.Model, Timeout: e.Timeout}
}
