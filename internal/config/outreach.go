package config

import (
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/campaign"
	"github.com/mtlrent/conveyor/internal/secret"
)

// Outreach is the messages that tenants send.
type Outreach struct {
	SecretKeys string `env:"CONVEYOR_SECRET_KEYS" envDefault:"" secret:"all" doc:"keys that the access tokens of senders, addresses of saved searches, headers and cookies of crawl requests, and credentials of scrapers' proxies are encrypted with, as id:base64 of 32 bytes by commas: the first one encrypts, all decrypt; none of them can be stored without one"`

	BindTokens bool `env:"CONVEYOR_BIND_TOKENS" envDefault:"false" doc:"seal the access tokens of senders for their tenant and number, too, so that a changed row opens none; releases before 0.5 cannot read them: set it at the API when none runs any more, and run conveyor tenants rekey"`
	DeriveKeys bool `env:"CONVEYOR_DERIVE_KEYS" envDefault:"false" doc:"encrypt by a key for each kind of secret, derived from the first of CONVEYOR_SECRET_KEYS; 0.6 and earlier releases read nothing that is encrypted so: set it when none of their processes runs any more; conveyor tenants rekey encrypts all that is there as this says"`

	KeyOptOuts bool `env:"CONVEYOR_KEY_OPT_OUTS" envDefault:"false" doc:"hash opt-outs by a secret key, which is kept in the database encrypted by CONVEYOR_SECRET_KEYS, so that telephone numbers cannot be tried by whoever has the database alone; 0.5 and earlier releases would not find them and write to people who want no messages, and nothing is sent any more without the key: set it at the workers of message_dispatch when no such release runs any more, nor will"`

	UploadBytes   int64 `env:"CONVEYOR_UPLOAD_MAX_BYTES" envDefault:"1073741824" doc:"most bytes of a file of contacts, as it is sent, 1024 to 4294967296" validate:"min=1024,max=4294967296"`
	UploadShare   int   `env:"CONVEYOR_UPLOAD_SHARE" envDefault:"5000" doc:"chunks of 1,000 rows that may wait of one tenant before its uploads are refused with 429" validate:"min=1"`
	UploadChunks  int   `env:"CONVEYOR_UPLOAD_CHUNKS" envDefault:"60000" doc:"chunks of 1,000 rows that may wait of all tenants before uploads are refused with 429" validate:"min=1"`
	UploadReserve int64 `env:"CONVEYOR_UPLOAD_RESERVE" envDefault:"536870912" doc:"bytes that stay free in the folder of CONVEYOR_BLOB_URL: with less, uploads are refused with 429, pictures, bodies of crawls and unpacked files wait, and imports below half of it; GET /ready says that files are stuck; 0 asks for none" validate:"min=0"`
	UploadLow     int   `env:"CONVEYOR_UPLOAD_LOW" envDefault:"80" doc:"per cent of CONVEYOR_UPLOAD_SHARE and CONVEYOR_UPLOAD_CHUNKS that the waiting chunks must fall to before uploads are accepted again, 0 to 100" validate:"min=0,max=100"`

	CampaignLate time.Duration `env:"CONVEYOR_CAMPAIGN_LATE" envDefault:"1h" doc:"how long after its time a campaign with a time may start, where its not_after does not say it: a later one is paused, not sent; 0 is for ever" validate:"min=0"`
}

// check tests the keys.
func (o Outreach) check(Config) []string {
	if _, err := o.Box(); err != nil {
		return []string{"CONVEYOR_SECRET_KEYS " + err.Error()}
	}
	if o.KeyOptOuts && strings.TrimSpace(o.SecretKeys) == "" {
		return []string{"CONVEYOR_KEY_OPT_OUTS is true, and CONVEYOR_SECRET_KEYS has no key"}
	}
	return nil
}

// Box is what CONVEYOR_SECRET_KEYS opens. The error quotes no key.
func (o Outreach) Box() (*secret.Box, error) {
	box, err := secret.Parse(o.SecretKeys)
	if err == nil && o.DeriveKeys {
		box.Derive()
	}
	return box, err
}

// Imports bounds the import of uploaded files of contacts in one worker process.
type Imports struct {
	Chunks int `env:"CONVEYOR_IMPORT_CHUNKS" envDefault:"50" doc:"groups of chunks of uploaded files in hand at once; half of the CPUs read them" validate:"min=1"`
	Stores int `env:"CONVEYOR_IMPORT_STORES" envDefault:"2" doc:"uploads whose contacts are stored at once, each in one connection" validate:"min=1"`
}

// Dispatch bounds the sending of messages: by a worker process, and of a tenant by all of them together.
type Dispatch struct {
	Slots      int `env:"CONVEYOR_DISPATCH_SLOTS" envDefault:"200" doc:"tenants whose messages a worker process sends at once; most of the time they wait for the next pass of their rate" validate:"min=1,max=10000"`
	Requests   int `env:"CONVEYOR_DISPATCH_REQUESTS" envDefault:"256" doc:"requests to the WhatsApp Cloud API that a worker process makes at once" validate:"min=1,max=10000"`
	Standard   int `env:"CONVEYOR_DISPATCH_STANDARD" envDefault:"10" doc:"messages a second of a tenant of the tier standard, by all processes together" validate:"min=1,max=100000"`
	Enterprise int `env:"CONVEYOR_DISPATCH_ENTERPRISE" envDefault:"50" doc:"messages a second of a tenant of the tier enterprise, by all processes together" validate:"min=1,max=100000"`
}

// Rates are the messages a second of each tier.
func (d Dispatch) Rates() map[campaign.Tier]int {
	return map[campaign.Tier]int{campaign.Standard: d.Standard, campaign.Enterprise: d.Enterprise}
}
