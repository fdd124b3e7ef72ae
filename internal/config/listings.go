package config

import "time"

// Listings is the pipeline of rental adverts.
type Listings struct {
	Stages             []string      `env:"CONVEYOR_LISTING_STAGES" doc:"stages that this system runs, by commas; a listing is handed over at the first stage that is not among them" validate:"dive,stage"`
	StaleAfter         time.Duration `env:"CONVEYOR_STALE_AFTER" envDefault:"48h" doc:"age of the last scrape at which a listing is archived" validate:"min=1m"`
	StaleEvery         time.Duration `env:"CONVEYOR_STALENESS_EVERY" envDefault:"4h" doc:"interval of the check for stale listings; applied by conveyor bootstrap" validate:"min=1m"`
	ReplayRate         int           `env:"CONVEYOR_REPLAY_RATE" envDefault:"100" doc:"adverts a second that all replays together may start, across all processes" validate:"min=1"`
	ArchiveDeadLetters bool          `env:"CONVEYOR_ARCHIVE_DEAD_LETTERS" envDefault:"true" doc:"move dead letters to Postgres; false leaves them in the broker"`
}

// Images is the download of files from other hosts, and where they are stored.
type Images struct {
	BlobURL      string        `env:"CONVEYOR_BLOB_URL" envDefault:"" secret:"url" doc:"URL of the blob store: file:///path, s3://…, gs://…, azblob://…; the default is .conveyor/blobs"`
	Fetch        bool          `env:"CONVEYOR_IMAGES" envDefault:"true" doc:"download the images of listings; images skipped while it is false are downloaded when the listing is processed again"`
	Interval     time.Duration `env:"CONVEYOR_IMAGE_INTERVAL" envDefault:"500ms" doc:"time between two downloads from one host, across all processes" validate:"gt=0"`
	AllowPrivate []string      `env:"CONVEYOR_ALLOW_PRIVATE_HOSTS" envDefault:"" doc:"host:port pairs on private networks that downloads may reach, by commas"`
}
