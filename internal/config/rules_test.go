package config_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/domain/retention"
	"github.com/mtlrent/conveyor/internal/config"
)

// bounds are the rules of settings: valid values at their edges, invalid ones beyond them, and the error of the first.
var bounds = []struct {
	variable, valid, invalid string // values separated by |
	err                      string
}{
	{"DATABASE_URL", "postgres://db/x|postgresql://db/x", "mysql://db/x|postgres:///x|db|postgres://me:hunter2%zz@db/",
		"DATABASE_URL is not a URL that begins with postgres:// or postgresql://"},
	{"DATABASE_MIGRATE_URL", "|postgres://owner@db/x", "mysql://db/x|postgres://me:hunter2%zz@db/",
		"DATABASE_MIGRATE_URL is not a URL that begins with postgres:// or postgresql://"},
	{"DATABASE_LISTEN_URL", "|postgres://conveyor@db/x", "mysql://db/x|postgres://me:hunter2%zz@db/",
		"DATABASE_LISTEN_URL is not a URL that begins with postgres:// or postgresql://"},
	{"RABBITMQ_URL", "amqp://b/|amqps://b/|amqp://b/,amqp://c/|amqps://b/?cacertfile=a&certfile=b&keyfile=c|amqp://me:a,b@b/, amqps://c/", "http://b/|amqp:b|amqp://b/,http://c/|,|amqps://b/?cacertfile=a,amqp://c/?certfile=b|amqp://b/?keyfile=c",
		"RABBITMQ_URL is not a URL that begins with amqp:// or amqps://, or several of them by commas"},
	{"RABBITMQ_MANAGEMENT_URL", "http://b:15672|https://b,https://c", "b:15672|http://b,amqp://c",
		"RABBITMQ_MANAGEMENT_URL is not a URL that begins with http:// or https://, or several of them by commas"},
	{"REDIS_URL", "redis://r/0|rediss://r/0", "http://r/", "REDIS_URL is not a URL that begins with redis:// or rediss://"},
	{"RABBITMQ_QUEUE_TYPE", "quorum|classic", "mirrored|Quorum", `RABBITMQ_QUEUE_TYPE is "mirrored", expected one of quorum, classic`},
	{"RABBITMQ_PORT", "1|65535", "0|65536", "RABBITMQ_PORT is 0, expected 1 to 65535"},
	{"CONVEYOR_PREFETCH", "1|1000", "0|1001|-1", "CONVEYOR_PREFETCH is 0, expected 1 to 1000"},
	{"RABBITMQ_HOLD", "1m|20m", "59s|0|-1m",
		"RABBITMQ_HOLD is 59s, expected 1m or more: each return to the queue counts as a delivery"},
	{"RABBITMQ_PREFETCH", "1|100", "0|101",
		"RABBITMQ_PREFETCH is 0, expected 1 to 100: it applies to crawl requests; CONVEYOR_PREFETCH is that of the other queues"},
	{"RABBITMQ_EXCHANGE", "x|" + strings.Repeat("x", 240), "amq.topic|" + strings.Repeat("x", 241),
		`RABBITMQ_EXCHANGE is "amq.topic", expected a name of 1 to 240 bytes that does not begin with amq.`},
	{"RABBITMQ_QUEUE", "x|" + strings.Repeat("x", 240), "amq.gen|" + strings.Repeat("x", 241),
		`RABBITMQ_QUEUE is "amq.gen", expected a name of 1 to 240 bytes that does not begin with amq.`},
	{"RABBITMQ_ROUTING_KEY", "x|" + strings.Repeat("x", 240), "amq.x|" + strings.Repeat("x", 241),
		`RABBITMQ_ROUTING_KEY is "amq.x", expected a name of 1 to 240 bytes that does not begin with amq.`},
	{"CONVEYOR_TEMPORAL_RETENTION", "24h|72h", "23h59m|0", "CONVEYOR_TEMPORAL_RETENTION is 23h59m0s, expected 24h or more"},
	{"CONVEYOR_DEPLOYMENT", "|conveyor|Conveyor_2-x", "a.b|a:b|-a|" + strings.Repeat("x", 101),
		`CONVEYOR_DEPLOYMENT is "a.b", expected 1 to 100 letters, digits, - and _`},
	{"CONVEYOR_BUILD_ID", "|0.5.0|v0.0.0-20261123-abc+x", "a b|a:b|'|" + strings.Repeat("x", 101),
		`CONVEYOR_BUILD_ID is "a b", expected 1 to 100 letters, digits, and . - _ +, such as 0.5.0`},
	{"CONVEYOR_API_URL", "http://127.0.0.1:8080|https://homes.example/api", "homes.example|ftp://homes.example|https://",
		`CONVEYOR_API_URL is "homes.example", expected a URL that begins with http:// or https://`},
	{"CONVEYOR_API_RATE", "0|50", "-1", "CONVEYOR_API_RATE is -1, expected 0 or more"},
	{"CONVEYOR_API_BURST", "1|100", "0", "CONVEYOR_API_BURST is 0, expected 1 or more"},
	{"CONVEYOR_API_WRITE_RATE", "0|20", "-1", "CONVEYOR_API_WRITE_RATE is -1, expected 0 or more"},
	{"CONVEYOR_KEY_MAX_AGE", "0|36500", "-1|36501", "CONVEYOR_KEY_MAX_AGE is -1, expected 0 to 36500"},
	{"CONVEYOR_API_ADDRESS_RATE", "0|200", "-1", "CONVEYOR_API_ADDRESS_RATE is -1, expected 0 or more"},
	{"CONVEYOR_API_CONNECTIONS", "10|1000", "9|0", "CONVEYOR_API_CONNECTIONS is 9, expected 10 or more"},
	{"CONVEYOR_API_HOSTS", "|api|api,conveyor_api.internal.example,API", "api:8080|a b|http://api|-a|*.example|api.",
		`CONVEYOR_API_HOSTS is "api:8080", expected a host name such as api, without a port`},
	{"CONVEYOR_API_PROXIES", "|10.0.0.1,fd00::/8", "proxy.example|10.0.0.0/33|10.0.0.1,x",
		`CONVEYOR_API_PROXIES is "proxy.example", expected an address or a network such as 10.0.0.0/8`},
	{"CONVEYOR_OIDC_ISSUER", "|https://login.example/realms/ops|http://127.0.0.1:9000|http://[::1]:9000|http://localhost:9000",
		"http://login.example|login.example|ftp://login.example|https://|:",
		`CONVEYOR_OIDC_ISSUER is "http://login.example", expected a URL that begins with https://, or with http:// on the loopback interface`},
	{"CONVEYOR_OIDC_ROLES", "|admin=ops-admins,read=ops", "admin|root=x|admin=",
		`CONVEYOR_OIDC_ROLES has "admin", expected role=value`},
	{"CONVEYOR_TIME_ZONE", "America/Toronto|UTC", "Montréal|../x", "CONVEYOR_TIME_ZONE is not an IANA time zone such as America/Toronto"},
	{"CONVEYOR_MAP_TILES", "|https://tiles.example/{z}/{x}/{y}.png", "https://tiles.example/{z}/{x}.png|https://tiles.example/",
		"CONVEYOR_MAP_TILES has not all of {x}, {y} and {z}"},
	{"CONVEYOR_TEMPORAL_UI_URL", "|http://127.0.0.1:8233|https://workflows.example/ui", "workflows.example:8233", `CONVEYOR_TEMPORAL_UI_URL is "workflows.example:8233", expected a URL that begins with http:// or https://`},
	{"CONVEYOR_GRAFANA_URL", "|http://127.0.0.1:3000|https://grafana.example", "grafana", `CONVEYOR_GRAFANA_URL is "grafana", expected a URL that begins with http:// or https://`},
	{"CONVEYOR_LISTING_STAGES", "|normalize|import,images|normalize,dedupe,import,images", "normalise|import,|import,publish",
		`CONVEYOR_LISTING_STAGES is "normalise", expected one of normalize, dedupe, import, images`},
	{"CONVEYOR_LISTING_PREFERENCE", "|kangalou|kangalou,kijiji", "Kijiji|kijiji,|a b",
		`CONVEYOR_LISTING_PREFERENCE is "Kijiji", expected a name of a platform such as kijiji`},
	{"CONVEYOR_ENRICH", "here|elsewhere|off", "ours|Here", `CONVEYOR_ENRICH is "ours", expected one of here, elsewhere, off`},
	{"CONVEYOR_ENRICH_URL", "|https://model.example/v1|http://127.0.0.1:11434/v1",
		"model.example|ftp://x/v1|http://model.example/v1|https://me:hunter2@x/v1?q",
		"CONVEYOR_ENRICH_URL: the address is not http[s]://host[:port][/path]"},
	{"CONVEYOR_ENRICH_DAILY", "0|500", "-1", "CONVEYOR_ENRICH_DAILY is -1, expected 0 or more"},
	{"CONVEYOR_ENRICH_TIMEOUT", "1s|90s", "999ms|91s", "CONVEYOR_ENRICH_TIMEOUT is 999ms, expected 1s to 90s"},
	{"CONVEYOR_ENRICH_PLACES", "|metro=/x|metro=/x,school=/y", "metro|Metro=/x|metro=|metro=/x,school",
		`CONVEYOR_ENRICH_PLACES has "metro", expected kind=path, such as metro=/data/metro.geojson`},
	{"CONVEYOR_REPLAY_RATE", "1|1000", "0", "CONVEYOR_REPLAY_RATE is 0, expected 1 or more"},
	{"CONVEYOR_STALE_AFTER", "1m|48h", "59s", "CONVEYOR_STALE_AFTER is 59s, expected 1m or more"},
	{"CONVEYOR_STALENESS_EVERY", "1m|4h", "59s", "CONVEYOR_STALENESS_EVERY is 59s, expected 1m or more"},
	{"CONVEYOR_IMAGE_INTERVAL", "1ns|500ms", "0s|-1s", "CONVEYOR_IMAGE_INTERVAL is 0s, expected more than 0"},
	{"CONVEYOR_ALLOW_PRIVATE_HOSTS", "|demo:8090|10.0.0.7:80,[fd00::1]:8080|conveyor.local:1",
		"demo|10.0.0.7|demo:|:80|demo:0|demo:http|demo:8090,[fd00::1]|demo:8090,localhost:80|127.0.0.1:9222|" +
			"[::1]:80|x.localhost:80|[::ffff:127.0.0.1]:80|0.0.0.0:80|localhost.:80",
		`CONVEYOR_ALLOW_PRIVATE_HOSTS is "demo", expected a host and a port such as images.internal:8080`},
	{"CONVEYOR_WEBHOOK_PRIVATE_HOSTS", "|demo:8090", "demo|127.0.0.1:8090",
		`CONVEYOR_WEBHOOK_PRIVATE_HOSTS is "demo", expected a host and a port such as images.internal:8080`},
	{"DATABASE_MIGRATE_URL", "|postgres://db/x|postgresql://db/x", "mysql://db/x|db|postgres://me:hunter2%zz@db/",
		"DATABASE_MIGRATE_URL is not a URL that begins with postgres:// or postgresql://"},
	{"CONVEYOR_BROWSER_SANDBOX", "required|off", "on|no", `CONVEYOR_BROWSER_SANDBOX is "on", expected one of required, off`},
	{"CONVEYOR_BROWSER_PAGES", "1|32", "0|33", "CONVEYOR_BROWSER_PAGES is 0, expected 1 to 32"},
	{"CONVEYOR_BROWSER_TIMEOUT", "1s|30s", "999ms", "CONVEYOR_BROWSER_TIMEOUT is 999ms, expected 1s or more"},
	{"CONVEYOR_BROWSER_MAX_CYCLES", "1|50", "0", "CONVEYOR_BROWSER_MAX_CYCLES is 0, expected 1 or more"},
	{"CONVEYOR_BROWSER_MAX_AGE", "1m|2h", "59s", "CONVEYOR_BROWSER_MAX_AGE is 59s, expected 1m or more"},
	{"CONVEYOR_BROWSER_MAX_RSS", "512|1536", "511|0",
		"CONVEYOR_BROWSER_MAX_RSS is 511, expected 512 or more: Chromium alone takes that"},
	{"CONVEYOR_DATABASE_ROLES", "|browser=conveyor_pages|browser=a,drafts=b", "browser|=a|browser=a,b",
		`CONVEYOR_DATABASE_ROLES is "browser", expected a task queue, bridge or api, and a role such as browser=conveyor_pages`},
	{"CONVEYOR_BROWSER_URL", "|http://x:p@c:9222", "chromium:9222|https://c|ws://c",
		"CONVEYOR_BROWSER_URL is not a URL that begins with http://"},
	{"CHROME_DEVTOOLS_URL", "|http://c:9222|https://c|ws://c/x|wss://c/x", "chrome:9222|amqp://c|c",
		"CHROME_DEVTOOLS_URL is not a URL that begins with http:// or https:// or ws:// or wss://"},
	{"CONVEYOR_DRAFT_PAGES", "1|32", "0|33", "CONVEYOR_DRAFT_PAGES is 0, expected 1 to 32"},
	{"CONVEYOR_DRAFT_TIMEOUT", "1s|45s", "999ms|46s", "CONVEYOR_DRAFT_TIMEOUT is 999ms, expected 1s to 45s"},
	{"CONVEYOR_SCRAPE", "|kijiji|kijiji=https://www.kijiji.ca/b-x,kangalou", "kijiji=|kijiji=www.kijiji.ca|kijiji=ftp://x",
		"CONVEYOR_SCRAPE: kijiji is not a URL that begins with http:// or https://"},
	{"CONVEYOR_SCRAPE_TRANSPORT", "|browser|http", "curl", `CONVEYOR_SCRAPE_TRANSPORT is "curl", expected one of browser, http`},
	{"CONVEYOR_SCRAPE_PAGES", "0|250", "-1", "CONVEYOR_SCRAPE_PAGES is -1, expected 0 or more"},
	{"CONVEYOR_TASK_QUEUES", "|listings|images,listings", "listing|images,drafts",
		`CONVEYOR_TASK_QUEUES is "listing", expected one of listings, images`},
	{"CONVEYOR_UNUSED_TASK_QUEUES", "|listings|images,listings", "listing|images,drafts",
		`CONVEYOR_UNUSED_TASK_QUEUES is "listing", expected one of listings, images`},
	{"CONVEYOR_DB_MAX_CONNS", "20|200", "1|0",
		"CONVEYOR_DB_MAX_CONNS is 1, expected 2 or more; CONVEYOR_STORE_SLOTS is 20, expected 1 to CONVEYOR_DB_MAX_CONNS (1)"},
	{"CONVEYOR_STORE_SLOTS", "1|24", "0|25", "CONVEYOR_STORE_SLOTS is 0, expected 1 to CONVEYOR_DB_MAX_CONNS (24)"},
	{"CONVEYOR_IMAGE_SLOTS", "1|32", "0", "CONVEYOR_IMAGE_SLOTS is 0, expected 1 or more"},
	{"CONVEYOR_SCRAPE_CYCLE", "-1s|0s|6h", "7h", "CONVEYOR_SCRAPE_CYCLE is 7h0m0s, expected -1s to 6h"},
	{"CONVEYOR_SCRAPE_SLOTS", "1|16", "0", "CONVEYOR_SCRAPE_SLOTS is 0, expected 1 or more"},
	{"CONVEYOR_OUTBOX_RETENTION", "1h|24h", "0|59m|-1h",
		"CONVEYOR_OUTBOX_RETENTION is 0s, expected 1h or more: by them an event that is stored twice is published once"},
	{"CONVEYOR_STOP_GRACE", "0s|90s", "-5s", "CONVEYOR_STOP_GRACE is -5s, expected 0 or more"},
	{"REDIS_CA_FILE", "", "/etc/ca.pem", "REDIS_CA_FILE is for rediss:// only, and REDIS_URL begins with redis://"},
	{"REDIS_CERT_FILE", "", "/etc/cert.pem", "REDIS_CERT_FILE is for rediss:// only, and REDIS_URL begins with redis://"},
	{"REDIS_KEY_FILE", "", "/etc/key.pem", "REDIS_KEY_FILE is for rediss:// only, and REDIS_URL begins with redis://"},
	{"CONVEYOR_OUTBOX_RELAYS", "1|16", "0|17", "CONVEYOR_OUTBOX_RELAYS is 0, expected 1 to 16"},
	{"CONVEYOR_PUBLISHED_MAX", "0|1|5000000", "-1", "CONVEYOR_PUBLISHED_MAX is -1, expected 0 or more"},
	{"CONVEYOR_CRAWLED_MAX", "0|1", "-1", "CONVEYOR_CRAWLED_MAX is -1, expected 0 or more"},
	{"CONVEYOR_OUTBOX_GIVE_UP", "0s|24h", "-1s", "CONVEYOR_OUTBOX_GIVE_UP is -1s, expected 0 or more"},
	{"CONVEYOR_RETENTION_EVERY", "1m|24h", "59s", "CONVEYOR_RETENTION_EVERY is 59s, expected 1m or more"},
	{"CONVEYOR_KEEP_ADVERTS", "0|7|730|36500", "-1|1|6|36501|213504", "CONVEYOR_KEEP_ADVERTS is -1, expected 0 to 36500"},
	{"CONVEYOR_KEEP_IMAGES", "0|1|36500", "-1|36501|213504", "CONVEYOR_KEEP_IMAGES is -1, expected 0 to 36500"},
	{"CONVEYOR_KEEP_REVISIONS", "0|1|36500", "-1|36501|213504", "CONVEYOR_KEEP_REVISIONS is -1, expected 0 to 36500"},
	{"CONVEYOR_KEEP_EVENTS", "0|1|36500", "-1|36501|213504", "CONVEYOR_KEEP_EVENTS is -1, expected 0 to 36500"},
	{"CONVEYOR_KEEP_DEAD_LETTERS", "0|7|36500", "6|-1|36501|213504",
		"CONVEYOR_KEEP_DEAD_LETTERS is 6, expected 0, or 7 or more: a message that dies again is found by its first death"},
	{"CONVEYOR_KEEP_DRAFTS", "0|7|36500", "6|-1|36501|213504",
		"CONVEYOR_KEEP_DRAFTS is 6, expected 0, or 7 or more: a request that is sent again is found by its first"},
	{"CONVEYOR_KEEP_REPLAYS", "0|1|36500", "-1|36501|213504", "CONVEYOR_KEEP_REPLAYS is -1, expected 0 to 36500"},
	{"CONVEYOR_KEEP_SCRAPES", "0|7|36500", "6|-1|36501|213504",
		"CONVEYOR_KEEP_SCRAPES is 6, expected 0, or 7 or more: a scraper that was stopped for a week would lose what it knows"},
	{"CONVEYOR_KEEP_AUDIT", "0|90|36500", "89|-1|36501|213504",
		"CONVEYOR_KEEP_AUDIT is 89, expected 0, or 90 or more: the database deletes nothing younger from it"},
	{"CONVEYOR_KEEP_CRAWL_RUNS", "0|1|36500", "-1|36501|213504", "CONVEYOR_KEEP_CRAWL_RUNS is -1, expected 0 to 36500"},
	{"CONVEYOR_KEEP_MESSAGES", "0|7|36500", "6|-1|36501|213504",
		"CONVEYOR_KEEP_MESSAGES is 6, expected 0, or 7 or more: webhooks report on a message for so long"},
	{"CONVEYOR_KEEP_WEBHOOKS", "0|7|36500", "6|-1|36501|213504",
		"CONVEYOR_KEEP_WEBHOOKS is 6, expected 0, or 7 or more: a webhook may come again for so long"},
	{"CONVEYOR_KEEP_UPLOAD_FILES", "1|365", "-1|36501|213504", "CONVEYOR_KEEP_UPLOAD_FILES is -1, expected 0 to 36500"},
	{"CONVEYOR_KEY_OPT_OUTS", "false", "true", "CONVEYOR_KEY_OPT_OUTS is true, and CONVEYOR_SECRET_KEYS has no key"},
	{"CONVEYOR_KEEP_UPLOADS", "0|30|36500", "29|6|-1|36501|213504",
		"CONVEYOR_KEEP_UPLOADS is 29, expected 0, or CONVEYOR_KEEP_UPLOAD_FILES (30) or more"},
	{"CONVEYOR_KEEP_NOTICES", "0|7|36500", "6|-1|36501|213504",
		"CONVEYOR_KEEP_NOTICES is 6, expected 0, or 7 or more: a person may take days to confirm an address"},
	{"CONVEYOR_KEEP_FILES", "0|1|36500", "-1|36501|213504", "CONVEYOR_KEEP_FILES is -1, expected 0 to 36500"},
	{"CONVEYOR_SEARCH_URL", "|http://search|http://me:x@127.0.0.1|https://me:hunter2@search.internal:9200/pages", "ftp://search|https://me:hunter2@s/UPPER|http://me:hunter2@search",
		"CONVEYOR_SEARCH_URL: URL of OpenSearch is not http[s]://[user:password@]host[:port][/index]"},
	{"CONVEYOR_SEARCH_ENGINE", "postgres", "lucene|opensearch",
		`CONVEYOR_SEARCH_ENGINE is "lucene", expected one of postgres, opensearch`},
	{"CRAWL_MAX_PAGES", "1|5000000", "0|5000001", "CRAWL_MAX_PAGES is 0, expected 1 to 5000000"},
	{"CRAWL_MAX_DEPTH", "0|1000", "-1|1001", "CRAWL_MAX_DEPTH is -1, expected 0 to 1000"},
	{"MAX_RETRIES", "0|20", "-1|21", "MAX_RETRIES is -1, expected 0 to 20"},
	{"RETRY_BASE_DELAY_MS", "1|3600000", "0|3600001", "RETRY_BASE_DELAY_MS is 0, expected 1 to 3600000"},
	{"RETRY_MAX_DELAY_MS", "1|21600000", "0|21600001", "RETRY_MAX_DELAY_MS is 0, expected 1 to 21600000"},
	{"WORKER_CONCURRENCY", "1|1000", "0|1001", "WORKER_CONCURRENCY is 0, expected 1 to 1000"},
	{"FETCH_CONCURRENCY", "1|1000", "0|1001", "FETCH_CONCURRENCY is 0, expected 1 to 1000"},
	{"FETCH_CONCURRENCY_PER_HOST", "1|1000", "0|1001", "FETCH_CONCURRENCY_PER_HOST is 0, expected 1 to 1000"},
	{"FETCH_MIN_GAP_PER_HOST_MS", "0|3600000", "-1|3600001", "FETCH_MIN_GAP_PER_HOST_MS is -1, expected 0 to 3600000"},
	{"FETCH_GAP_JITTER_MS", "0|3600000", "-1|3600001", "FETCH_GAP_JITTER_MS is -1, expected 0 to 3600000"},
	{"FETCH_HOST_COOLDOWN_BASE_MS", "0|3600000", "-1|3600001", "FETCH_HOST_COOLDOWN_BASE_MS is -1, expected 0 to 3600000"},
	{"FETCH_HOST_COOLDOWN_MAX_MS", "0|21600000", "-1|21600001", "FETCH_HOST_COOLDOWN_MAX_MS is -1, expected 0 to 21600000"},
	{"CONVEYOR_CRAWL_IDLE_CONNS", "1|1000", "0|1001", "CONVEYOR_CRAWL_IDLE_CONNS is 0, expected 1 to 1000"},
	{"CONVEYOR_CRAWL_SLOTS", "2|1000", "1|1001", "CONVEYOR_CRAWL_SLOTS is 1, expected 2 to 1000"},
	{"CONVEYOR_CRAWL_TTL", "1s|24h", "999ms|0", "CONVEYOR_CRAWL_TTL is 999ms, expected 1s or more"},
	{"CONVEYOR_SEARCH_BATCH", "1|1000", "0|1001", "CONVEYOR_SEARCH_BATCH is 0, expected 1 to 1000"},
	{"CONVEYOR_IMPORT_CHUNKS", "1|200", "0", "CONVEYOR_IMPORT_CHUNKS is 0, expected 1 or more"},
	{"CONVEYOR_IMPORT_STORES", "1|8", "0", "CONVEYOR_IMPORT_STORES is 0, expected 1 or more"},
	{"CONVEYOR_SEARCH_CONSUMERS", "1|16", "0|17", "CONVEYOR_SEARCH_CONSUMERS is 0, expected 1 to 16"},
	{"CONVEYOR_UPLOAD_MAX_BYTES", "1024|4294967296", "1023|4294967297",
		"CONVEYOR_UPLOAD_MAX_BYTES is 1023, expected 1024 to 4294967296"},
	{"CONVEYOR_UPLOAD_SHARE", "1|5000", "0", "CONVEYOR_UPLOAD_SHARE is 0, expected 1 or more"},
	{"CONVEYOR_UPLOAD_CHUNKS", "1|50000", "0", "CONVEYOR_UPLOAD_CHUNKS is 0, expected 1 or more"},
	{"CONVEYOR_UPLOAD_RESERVE", "0|1", "-1", "CONVEYOR_UPLOAD_RESERVE is -1, expected 0 or more"},
	{"CONVEYOR_DB_DISK_BYTES", "0|107374182400", "-1", "CONVEYOR_DB_DISK_BYTES is -1, expected 0 or more"},
	{"CONVEYOR_UPLOAD_LOW", "0|100", "-1|101", "CONVEYOR_UPLOAD_LOW is -1, expected 0 to 100"},
	{"CONVEYOR_CAMPAIGN_LATE", "0s|1h", "-1s", "CONVEYOR_CAMPAIGN_LATE is -1s, expected 0 or more"},
	{"CONVEYOR_WHATSAPP_URL", "https://graph.facebook.com|http://127.0.0.1:8090/whatsapp|http://localhost:8090",
		"graph.facebook.com|ftp://x|http://graph.facebook.com|https://me:hunter2@x",
		`CONVEYOR_WHATSAPP_URL is "graph.facebook.com", expected a URL that begins with https:// or http://`},
	{"CONVEYOR_WHATSAPP_TIMEOUT", "1s|1m", "999ms|61s", "CONVEYOR_WHATSAPP_TIMEOUT is 999ms, expected 1s to 1m"},
	{"CONVEYOR_WHATSAPP_CONNECTIONS", "1|1000", "0|1001", "CONVEYOR_WHATSAPP_CONNECTIONS is 0, expected 1 to 1000"},
	{"CONVEYOR_DISPATCH_SLOTS", "1|10000", "0|10001", "CONVEYOR_DISPATCH_SLOTS is 0, expected 1 to 10000"},
	{"CONVEYOR_DISPATCH_REQUESTS", "1|10000", "0|10001", "CONVEYOR_DISPATCH_REQUESTS is 0, expected 1 to 10000"},
	{"CONVEYOR_DISPATCH_STANDARD", "1|100000", "0|100001", "CONVEYOR_DISPATCH_STANDARD is 0, expected 1 to 100000"},
	{"CONVEYOR_DISPATCH_ENTERPRISE", "1|100000", "0|100001", "CONVEYOR_DISPATCH_ENTERPRISE is 0, expected 1 to 100000"},
	{"CONVEYOR_SMTP_URL", "|smtp://mail.example|smtps://me:hunter2@mail.example:465|smtp://127.0.0.1:1025?tls=off",
		"mail.example|smtp://me:hunter2@mail.example?tls=off|smtp://mail.example?tls=hunter2",
		"CONVEYOR_SMTP_URL, CONVEYOR_SMTP_FROM: the URL of the mail server is not smtp[s]://[user:password@]host[:port]"},
	{"CONVEYOR_TELEGRAM_URL", "https://api.telegram.org|http://127.0.0.1:8090/telegram",
		"api.telegram.org|ftp://x|http://api.telegram.org|https://me:hunter2@x",
		`CONVEYOR_TELEGRAM_URL is "api.telegram.org", expected a URL that begins with https:// or http://`},
	{"CONVEYOR_TELEGRAM_TOKEN", "|123456:ABC-def_0123456789", "hunter2|123456:",
		"CONVEYOR_TELEGRAM_TOKEN: the token of the Telegram bot is not of the form 123456:ABC…"},
	{"CONVEYOR_LOG_LEVEL", "debug|info|warn|error", "trace", `CONVEYOR_LOG_LEVEL is "trace", expected one of debug, info, warn, error`},
	{"CONVEYOR_LOG_FORMAT", "text|json", "xml", `CONVEYOR_LOG_FORMAT is "xml", expected one of text, json`},
}

func TestBounds(t *testing.T) {
	t.Setenv("CONVEYOR_OIDC_AUDIENCE", "conveyor")
	t.Setenv("CONVEYOR_ENRICH_MODEL", "small")
	t.Setenv("CONVEYOR_SMTP_FROM", "homes@example.org")
	t.Setenv("CONVEYOR_TELEGRAM_TOKEN", "1:0123456789abcdef")
	t.Setenv("CONVEYOR_MAP_ATTRIBUTION", "© OpenStreetMap contributors")
	t.Setenv("CONVEYOR_ENRICH_PLACES_ATTRIBUTION", "© the city")
	for _, b := range bounds {
		t.Run(b.variable, func(t *testing.T) {
			for value := range strings.SplitSeq(b.valid, "|") {
				t.Setenv(b.variable, value)
				_, err := config.Load(queues)
				require.NoError(t, err, value)
			}
			for i, value := range strings.Split(b.invalid, "|") {
				t.Setenv(b.variable, value)
				_, err := config.Load(queues)
				require.ErrorContains(t, err, "read configuration: "+b.variable, value)
				require.NotContains(t, err.Error(), "hunter2")
				if i == 0 {
					require.EqualError(t, err, "read configuration: "+b.err)
				}
			}
		})
	}
}

// The demo site of a local stack is on the loopback.
func TestLoopbackForTheDemo(t *testing.T) {
	t.Setenv("CONVEYOR_ALLOW_PRIVATE_HOSTS", "127.0.0.1:8090,localhost:8090")
	_, err := config.Load(queues)
	require.ErrorContains(t, err, `CONVEYOR_ALLOW_PRIVATE_HOSTS has "127.0.0.1:8090", which is on the loopback interface; `+
		"CONVEYOR_DEMO=true accepts that")
	t.Setenv("CONVEYOR_DEMO", "true")
	_, err = config.Load(queues)
	require.NoError(t, err)
	t.Setenv("CONVEYOR_ALLOW_PRIVATE_HOSTS", "127.0.0.1")
	_, err = config.Load(queues)
	require.ErrorContains(t, err, "expected a host and a port")
}

// Every setting with a validate tag is in the table above.
func TestEveryRuleIsTested(t *testing.T) {
	t.Parallel()

	tested := map[string]bool{}
	for _, b := range bounds {
		tested[b.variable] = true
	}
	for group := range reflect.TypeFor[config.Config]().Fields() {
		for f := range group.Type.Fields() {
			if f.Tag.Get("validate") != "" {
				require.True(t, tested[f.Tag.Get("env")], f.Tag.Get("env"))
			}
		}
	}
}

// One error names every setting that is wrong.
func TestAllProblemsAtOnce(t *testing.T) {
	t.Setenv("CONVEYOR_PREFETCH", "0")
	t.Setenv("CONVEYOR_LISTING_STAGES", "a,import,b")
	t.Setenv("CONVEYOR_STORE_SLOTS", "99")
	t.Setenv("CONVEYOR_OIDC_ISSUER", "https://login.example")
	_, err := config.Load(queues)
	require.EqualError(t, err, "read configuration: CONVEYOR_PREFETCH is 0, expected 1 to 1000; "+
		`CONVEYOR_LISTING_STAGES is "a", expected one of normalize, dedupe, import, images; `+
		`CONVEYOR_LISTING_STAGES is "b", expected one of normalize, dedupe, import, images; `+
		"CONVEYOR_OIDC_AUDIENCE is missing; without it the API would accept tokens for any other service of the issuer; "+
		"CONVEYOR_STORE_SLOTS is 99, expected 1 to CONVEYOR_DB_MAX_CONNS (24)")
}

// Lists that are not set are complete: all task queues that the program knows, all stages.
func TestDefaultLists(t *testing.T) {
	t.Setenv("CONVEYOR_TASK_QUEUES", "")
	c, err := config.Load(queues)
	require.NoError(t, err)
	require.Equal(t, queues, c.Worker.Queues)
	require.Equal(t, []string{"normalize", "dedupe", "import", "images"}, c.Listings.Stages)
}

// That a page was removed is known for longer than any run from before is kept.
func TestRemovalsOutliveRuns(t *testing.T) {
	t.Parallel()

	for runs, days := range map[int]int{30: 90, 62: 90, 90: 118, 400: 428, 0: 0} {
		got := config.Retention{CrawlRuns: runs}.Limits()[retention.Removals]
		require.Equal(t, time.Duration(days)*24*time.Hour, got, "runs of %d days", runs)
	}
}
