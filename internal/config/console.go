package config

import (
	"net/url"
	"strings"
	"time"
	_ "time/tzdata" // an image without the database of zones knows them all the same
)

// Console is what the pages of the console show beside the answers of the API.
type Console struct {
	TimeZone    string `env:"CONVEYOR_TIME_ZONE" envDefault:"America/Toronto" doc:"IANA time zone of the times in the console"`
	Tiles       string `env:"CONVEYOR_MAP_TILES" envDefault:"" doc:"streets for the map: the URL of tiles, with {x}, {y} and {z}; empty shows districts only, and browsers then ask no other host"`
	Attribution string `env:"CONVEYOR_MAP_ATTRIBUTION" envDefault:"" doc:"text that the owner of CONVEYOR_MAP_TILES wants beside the map; required with them"`
	Grafana     string `env:"CONVEYOR_GRAFANA_URL" envDefault:"" doc:"URL of Grafana, for links" validate:"omitempty,scheme=http https"`
}

// check tests the time zone and the tiles.
func (c Console) check(Config) (wrong []string) {
	if _, err := time.LoadLocation(c.TimeZone); err != nil || c.TimeZone == "" {
		wrong = append(wrong, "CONVEYOR_TIME_ZONE is not an IANA time zone such as America/Toronto")
	}
	if c.Tiles == "" {
		return wrong
	}
	u, err := url.Parse(strings.NewReplacer("{x}", "0", "{y}", "0", "{z}", "0").Replace(c.Tiles))
	switch {
	case err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || strings.ContainsAny(u.Host, " ;,'*"):
		wrong = append(wrong, "CONVEYOR_MAP_TILES is not a URL that begins with https://")
	case !strings.Contains(c.Tiles, "{x}") || !strings.Contains(c.Tiles, "{y}") || !strings.Contains(c.Tiles, "{z}"):
		wrong = append(wrong, "CONVEYOR_MAP_TILES has not all of {x}, {y} and {z}")
	case c.Attribution == "":
		wrong = append(wrong, "CONVEYOR_MAP_ATTRIBUTION is missing: the owner of the tiles wants to be named")
	}
	return wrong
}
