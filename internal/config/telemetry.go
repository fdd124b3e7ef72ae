package config

// Telemetry is logs and metrics.
type Telemetry struct {
	Metrics string `env:"CONVEYOR_METRICS_ADDRESS" envDefault:"" doc:"address on which a role serves /health and /metrics without authentication; empty turns that off"`
	Profile bool   `env:"CONVEYOR_PPROF" envDefault:"false" doc:"serve /debug/pprof on CONVEYOR_METRICS_ADDRESS too: profiles show what the process holds in memory"`
	Level   string `env:"CONVEYOR_LOG_LEVEL" envDefault:"info" doc:"log level: debug, info, warn or error" validate:"oneof=debug info warn error"`
	Format  string `env:"CONVEYOR_LOG_FORMAT" envDefault:"text" doc:"log format: text or json" validate:"oneof=text json"`
}
