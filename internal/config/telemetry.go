package config

// Telemetry is logs and metrics.
type Telemetry struct {
	Metrics string `env:"CONVEYOR_METRICS_ADDRESS" envDefault:"" doc:"address on which worker and bridge serve /metrics and /debug/pprof; empty turns that off"`
	Level   string `env:"CONVEYOR_LOG_LEVEL" envDefault:"info" doc:"log level: debug, info, warn or error" validate:"oneof=debug info warn error"`
	Format  string `env:"CONVEYOR_LOG_FORMAT" envDefault:"text" doc:"log format: text or json" validate:"oneof=text json"`
}
