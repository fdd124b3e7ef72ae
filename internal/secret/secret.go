// Package secret seals what is kept in Postgres and must not be readable there, such as access tokens of other systems.
package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/mtlrent/conveyor/domain/fault"
)

// keyBytes is the length of a key: AES-256.
const keyBytes = 32

var keyID = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,31}$`)

// derived ends the IDs under which values are stored that were sealed by keys derived from the one named before it, one
// for each kind of purpose. It is no part of an ID in CONVEYOR_SECRET_KEYS, so a process of a release that derives none
// waits for a key that it does not have.
const derived = "/hkdf"

// A Box seals with its first key and opens with all of them. The zero Box has no keys: it refuses both.
type Box struct {
	first  string
	derive bool
	keys   map[string]cipher.AEAD
	roots  map[string][]byte // the same keys, to derive others from
}

// Parse reads keys as id:base64 separated by commas: 32 random bytes each (openssl rand -base64 32), in the standard or
// the URL alphabet. No text at all is a box without keys. The error quotes no key.
func Parse(s string) (*Box, error) {
	b := &Box{keys: map[string]cipher.AEAD{}, roots: map[string][]byte{}}
	if strings.TrimSpace(s) == "" {
		return b, nil
	}
	for i, entry := range strings.Split(s, ",") {
		id, text, _ := strings.Cut(strings.TrimSpace(entry), ":")
		if !keyID.MatchString(id) {
			return nil, fmt.Errorf("entry %d: has no ID of 1 to 32 of a-z, 0-9, dot, dash and underscore before a colon", i+1)
		}
		if b.keys[id] != nil {
			return nil, fmt.Errorf("entry %d: is the second one with the ID %q", i+1, id)
		}
		text = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(text), "=")
		key, err := base64.RawStdEncoding.DecodeString(text)
		if err != nil || len(key) != keyBytes {
			return nil, fmt.Errorf("entry %d: the key %q is not base64 of %d bytes", i+1, id, keyBytes)
		}
		b.roots[id] = key
		if b.keys[id], err = sealer(key); err != nil {
			return nil, fmt.Errorf("entry %d: the key %q: %w", i+1, id, err)
		}
		if b.first == "" {
			b.first = id
		}
	}
	return b, nil
}

// sealer seals with a key: 2^32 values at most, for the nonces are random.
func sealer(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Derive lets Seal use a key for each kind of purpose, which is what stands before the first slash, derived from the
// first one: whoever finds one such key opens nothing of another kind. Releases that know no such keys open none of it.
func (b *Box) Derive() *Box {
	b.derive = true
	return b
}

// Key is the ID that Seal returns, to find what is sealed with another key; empty without keys.
func (b *Box) Key() string {
	if b.first == "" || !b.derive {
		return b.first
	}
	return b.first + derived
}

// Seal encrypts plain for a purpose, such as "sender/" and its ID: it can be opened for this purpose only, so that a
// value that is copied to another row is useless there. The result is kept beside the ID of the key.
func (b *Box) Seal(purpose string, plain []byte) (key string, sealed []byte, err error) {
	key = b.Key()
	aead, err := b.of(purpose, key)
	if err != nil {
		return "", nil, err
	}
	if aead == nil {
		return "", nil, fmt.Errorf("seal %s: CONVEYOR_SECRET_KEYS has no key", purpose)
	}
	return key, aead.Seal(nil, nil, plain, bound(purpose, key)), nil
}

// of is the key with an ID for a purpose, or nil.
func (b *Box) of(purpose, id string) (cipher.AEAD, error) {
	from, isDerived := strings.CutSuffix(id, derived)
	if !isDerived || b.roots[from] == nil {
		return b.keys[id], nil
	}
	kind, _, _ := strings.Cut(purpose, "/")
	key, err := hkdf.Key(sha256.New, b.roots[from], nil, "conveyor sealed "+kind, keyBytes)
	if err != nil {
		return nil, fmt.Errorf("derive a key for %s from %q: %w", kind, from, err)
	}
	return sealer(key)
}

// keyWait is how long to wait for a process that has a key.
const keyWait = 30 * time.Second

// Open decrypts what Seal returned for the same purpose. It is fault.Limited when the key is not in the box: another
// process has it, and this one may be given it. It is another error when the value was changed or is for another
// purpose.
func (b *Box) Open(purpose, key string, sealed []byte) ([]byte, error) {
	aead, err := b.of(purpose, key)
	if err != nil {
		return nil, err
	}
	if aead == nil {
		return nil, &fault.Error{Class: fault.Limited, After: keyWait, Err: fmt.Errorf(
			"open %s: CONVEYOR_SECRET_KEYS has no key with the ID %q", purpose, key)}
	}
	plain, err := aead.Open(nil, nil, sealed, bound(purpose, key))
	return plain, fault.Wrap(err, "open %s: it was not sealed for this with the key %q", purpose, key)
}

// OpenAny decrypts what Seal returned for one of some purposes. Its errors are those of Open, for the first of them.
func (b *Box) OpenAny(key string, sealed []byte, purposes ...string) (plain []byte, err error) {
	for n, purpose := range purposes {
		opened, failed := b.Open(purpose, key, sealed)
		if failed == nil {
			return opened, nil
		}
		if n == 0 {
			err = failed
		}
	}
	return nil, err
}

// bound is the additional data of a value.
func bound(purpose, key string) []byte { return []byte("conveyor\x00" + purpose + "\x00" + key) }
