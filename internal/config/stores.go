package config

import "time"

// Postgres is the database.
type Postgres struct {
	URL        string `env:"DATABASE_URL" envDefault:"postgres://conveyor:conveyor@127.0.0.1:15432/conveyor?sslmode=disable" doc:"URL of the database" secret:"url" validate:"scheme=postgres postgresql"`
	MigrateURL string `env:"DATABASE_MIGRATE_URL" envDefault:"" doc:"URL of the database for conveyor migrate, with the role that owns the tables; it grants the role of DATABASE_URL what the application needs; the default is DATABASE_URL" secret:"url" validate:"omitempty,scheme=postgres postgresql"`
	MaxConns   int32  `env:"CONVEYOR_DB_MAX_CONNS" envDefault:"24" doc:"maximum of database connections per process"`
}

// Redis holds the limits that apply across processes; its data may be lost.
type Redis struct {
	URL string `env:"REDIS_URL" envDefault:"redis://127.0.0.1:16379/0" doc:"URL of Redis, which keeps the limits that apply across processes" secret:"url" validate:"scheme=redis rediss"`
}

// Temporal runs the workflows.
type Temporal struct {
	UIURL     string        `env:"CONVEYOR_TEMPORAL_UI_URL" envDefault:"http://127.0.0.1:8233" doc:"URL of the Temporal Web UI, for links"`
	Retention time.Duration `env:"CONVEYOR_TEMPORAL_RETENTION" envDefault:"72h" doc:"retention of closed workflows, 24h or more" validate:"min=24h"`
}
