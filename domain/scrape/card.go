package scrape

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Fingerprint hashes the parts of a card, in an order that each platform keeps: 16 hexadecimal digits. White
// space is folded, and no two lists of parts run into each other.
func Fingerprint(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		p = strings.Join(strings.Fields(p), " ")
		h.Write([]byte(strconv.Itoa(len(p)) + ":" + p))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
