package access

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/mtlrent/conveyor/domain/fault"
)

// An API key is cvr_<id>_<secret>: eight letters that identify it, and 256 random bits. Only its SHA-256 is stored;
// with that many random bits it needs no salt and no slow hash.
const (
	keyPrefix   = "cvr_"
	idBytes     = 5
	secretBytes = 32
)

var (
	idText  = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567")
	keyForm = regexp.MustCompile(`^cvr_([a-z2-7]{8})_[A-Za-z0-9_-]{43}$`)
	keyName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)
)

// A Sum is the SHA-256 of a whole key.
type Sum [sha256.Size]byte

// NewKey makes a key from random, which must be cryptographically secure. The ID is no secret; the key is.
func NewKey(random io.Reader) (id, key string, err error) {
	var b [idBytes + secretBytes]byte
	if _, err := io.ReadFull(random, b[:]); err != nil {
		return "", "", fmt.Errorf("read random bytes: %w", err)
	}
	id = idText.EncodeToString(b[:idBytes])
	return id, keyPrefix + id + "_" + base64.RawURLEncoding.EncodeToString(b[idBytes:]), nil
}

// KeyID is the ID in a key. ok is false for a text that has not the form of a key, such as a token.
func KeyID(key string) (id string, ok bool) {
	m := keyForm.FindStringSubmatch(key)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// SumOf is the part of a key that is stored.
func SumOf(key string) Sum { return sha256.Sum256([]byte(key)) }

// CheckName refuses, as fault.Invalid, a text that cannot be the name of a key. The audit tells actors apart by name,
// so a key cannot have that of another kind of actor: token subjects and users of the command line have a colon in
// theirs.
func CheckName(name string) error {
	if !keyName.MatchString(name) {
		return fault.Newf(fault.Invalid,
			"name: is %.80q, expected 1 to 63 of a-z, 0-9, dot, dash and underscore, a letter or digit first", name)
	}
	if name == "anonymous" {
		return fault.Newf(fault.Invalid, "name: %q is reserved for callers without credentials", name)
	}
	return nil
}

// A Grant gives the holder of a key a role.
type Grant struct {
	Name string
	Role Role
	Sum  Sum
}

// String is the grant as ParseGrant reads it, without the key.
func (g Grant) String() string {
	return g.Name + ":" + string(g.Role) + ":" + hex.EncodeToString(g.Sum[:])
}

// ParseGrant reads name:role:<SHA-256 of the key in hex>, or name:role:<key>. Its error is fault.Invalid and quotes
// nothing of the third part, which may be a secret.
func ParseGrant(s string) (Grant, error) {
	parts := strings.Split(strings.TrimSpace(s), ":")
	if len(parts) != 3 {
		return Grant{}, fault.Newf(fault.Invalid, "has %d parts between colons, expected name:role:sha256", len(parts))
	}
	g := Grant{Name: parts[0]}
	if err := CheckName(g.Name); err != nil {
		return Grant{}, err
	}
	var err error
	if g.Role, err = ParseRole(parts[1]); err != nil {
		return Grant{}, err
	}
	if _, ok := KeyID(parts[2]); ok {
		g.Sum = SumOf(parts[2])
		return g, nil
	}
	sum, err := hex.DecodeString(parts[2])
	if err != nil || len(sum) != len(g.Sum) {
		return Grant{}, fault.Newf(fault.Invalid,
			"sha256: of %s is neither 64 hexadecimal digits nor a key of conveyor keys create", g.Name)
	}
	copy(g.Sum[:], sum)
	return g, nil
}
