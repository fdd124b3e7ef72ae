package config

import (
	"strings"
	"time"
)

// Postgres is the database. Its URL may name several hosts, of which target_session_attrs=read-write picks the
// primary, and certificates, as libpq has it.
type Postgres struct {
	URL        string   `env:"DATABASE_URL" envDefault:"postgres://conveyor@127.0.0.1:15432/conveyor?sslmode=disable" doc:"URL of the database; of a primary with standbys postgres://user@host1,host2/name?target_session_attrs=read-write" secret:"url" validate:"scheme=postgres postgresql"`
	MigrateURL string   `env:"DATABASE_MIGRATE_URL" envDefault:"" doc:"URL of the database for conveyor migrate, with the role that owns the tables; it grants the role of DATABASE_URL what the application needs; the default is DATABASE_LISTEN_URL, or else DATABASE_URL" secret:"url" validate:"omitempty,scheme=postgres postgresql"`
	ListenURL  string   `env:"DATABASE_LISTEN_URL" envDefault:"" doc:"URL of the server itself where DATABASE_URL is a pooler in transaction mode, such as PgBouncer: relays listen there, and sessions keep no state; the default is DATABASE_URL, a server or a pooler in session mode" secret:"url" validate:"omitempty,scheme=postgres postgresql"`
	Roles      []string `env:"CONVEYOR_DATABASE_ROLES" doc:"roles of the database that workers of a task queue, the bridge or the API have in their DATABASE_URL, by commas: browser=conveyor_pages,api=conveyor_api; conveyor migrate grants them what these processes need, and no more" validate:"dive,partrole"`
	MaxConns   int32    `env:"CONVEYOR_DB_MAX_CONNS" envDefault:"24" doc:"maximum of database connections per process, 2 or more: a merge of the search index takes two at once" validate:"min=2"`
	Disk       int64    `env:"CONVEYOR_DB_DISK_BYTES" envDefault:"0" doc:"bytes of the disk of Postgres, which cannot say how much of it is free: what its databases and its log leave of them counts for CONVEYOR_UPLOAD_RESERVE as the folder of CONVEYOR_BLOB_URL does; 0 does not watch it" validate:"min=0"`
}

// Redis holds the limits that apply across processes; its data may be lost.
type Redis struct {
	URL  string `env:"REDIS_URL" envDefault:"redis://127.0.0.1:16379/0" doc:"URL of Redis, which keeps the limits that apply across processes; with ?master_name=NAME its host, and each addr=HOST:PORT of the query, are Sentinels" secret:"url" validate:"scheme=redis rediss"`
	CA   string `env:"REDIS_CA_FILE" envDefault:"" doc:"file in PEM of the authorities that the certificate of a rediss:// server is checked with; the default is the system's"`
	Cert string `env:"REDIS_CERT_FILE" envDefault:"" doc:"file in PEM of the certificate that is shown to such a server"`
	Key  string `env:"REDIS_KEY_FILE" envDefault:"" doc:"file in PEM of the key of that certificate"`
}

// check tests that files of TLS are used: otherwise the password goes in clear text, though they are named.
func (r Redis) check(Config) (wrong []string) {
	for _, file := range [][2]string{{"REDIS_CA_FILE", r.CA}, {"REDIS_CERT_FILE", r.Cert}, {"REDIS_KEY_FILE", r.Key}} {
		if file[1] != "" && !strings.HasPrefix(r.URL, "rediss://") {
			wrong = append(wrong, file[0]+" is for rediss:// only, and REDIS_URL begins with redis://")
		}
	}
	return wrong
}

// Temporal runs the workflows.
type Temporal struct {
	UIURL     string        `env:"CONVEYOR_TEMPORAL_UI_URL" envDefault:"http://127.0.0.1:8233" doc:"URL of the Temporal Web UI, for links; the proxy before it answers requests to its host" validate:"omitempty,scheme=http https"`
	Retention time.Duration `env:"CONVEYOR_TEMPORAL_RETENTION" envDefault:"72h" doc:"retention of closed workflows, 24h or more" validate:"min=24h"`

	Deployment string `env:"CONVEYOR_DEPLOYMENT" envDefault:"" doc:"name of the Worker Deployment that workers are a build of, so that releases run side by side; empty: every worker gets all work" validate:"omitempty,deployment"`
	BuildID    string `env:"CONVEYOR_BUILD_ID" envDefault:"" doc:"ID of the build in the deployment; the default is the version of the binary" validate:"omitempty,build"`
}
