package bridge_test

import (
	"github.com/mtlrent/conveyor/bridge"
	"time"
)

func options(url string) bridge.Options {
	return bridge.Options{
		URL: url, Stages: []string{"normalize", "dedupe", "import", "images"}, Platforms: []string{"kijiji", "kangalou"},
		QueueType: "quorum", Declare: true, Prefetch: 50, ArchiveDeadLetters: true, Relays: 3, Retention: time.Hour,
		Version: "test",
	}
}
