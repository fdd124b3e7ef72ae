package listings

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/mtlrent/conveyor/api"
	"github.com/mtlrent/conveyor/db"
	dblistings "github.com/mtlrent/conveyor/db/listings"
	"github.com/mtlrent/conveyor/domain/contact"
	"github.com/mtlrent/conveyor/domain/fault"
	"github.com/mtlrent/conveyor/domain/saved"
)

// A SearchTarget is where a saved search tells its news.
type SearchTarget struct {
	ID     uuid.UUID `json:"id"`
	Kind   string    `json:"kind" enum:"webhook,feed,email,telegram"`
	Label  string    `json:"label,omitempty" doc:"its address, without what is secret or personal"`
	State  string    `json:"state" enum:"active,unconfirmed,stopped" doc:"unconfirmed: the owner of the e-mail address or Telegram chat, or the host of the webhook, has not confirmed it, and nothing is sent there; stopped: its owner wants no more, or it is gone: only a webhook can be asked again"`
	Reason string    `json:"reason,omitempty" doc:"why it is stopped, or why a webhook is not confirmed"`

	Secret      string     `json:"secret,omitempty" doc:"of a webhook, once: what it is signed with"`
	BeforeUntil *time.Time `json:"before_until,omitempty" doc:"of a webhook, beside a secret that is new: until when it is signed with the one before, too"`

	AtomURL string `json:"atom_url,omitempty" doc:"of a feed, once: an address that cannot be guessed"`
	JSONURL string `json:"json_url,omitempty" doc:"of a feed, once: the same in the format JSON Feed"`
}

func showTarget(t dblistings.SavedTarget) SearchTarget {
	return SearchTarget{ID: t.ID, Kind: string(t.Kind), Label: t.Label, State: t.State, Reason: t.Reason}
}

// TargetStart names a target.
type TargetStart struct {
	Kind  string `json:"kind" enum:"webhook,feed,email,telegram"`
	URL   string `json:"url,omitempty" maxLength:"2000" doc:"of a webhook: its address" example:"https://example.org/hook"`
	Email string `json:"email,omitempty" maxLength:"254" doc:"of an e-mail: its address"`
	Chat  string `json:"chat,omitempty" maxLength:"40" doc:"of Telegram: the ID of a chat that the bot may write to, or the @name of a channel"`
}

// target makes a target: what is stored of it, and what its owner is shown once.
func (h Searches) target(ctx context.Context, t TargetStart) (
	made dblistings.NewTarget, shown SearchTarget, err error,
) {
	token := newToken()
	made = dblistings.NewTarget{
		SavedTarget: dblistings.SavedTarget{ID: uuid.New(), Kind: saved.Channel(t.Kind), State: saved.TargetActive},
		Token:       sumOf(token),
	}
	if made.Kind.Asks() {
		made.State = saved.TargetUnconfirmed
	}
	var address saved.Address
	switch made.Kind {
	case saved.Feed:
		shown = showTarget(made.SavedTarget)
		h.showFeed(&shown, token)
		return made, shown, nil
	case saved.Email:
		address.Token = token // it is in messages only: who confirms has read one
		if address.Email, made.Label, err = h.email(t.Email); err == nil {
			made.Sum, err = h.addressSum(ctx, saved.Mailbox(address.Email))
		}
	case saved.Telegram:
		address.Token = token
		if address.Chat, made.Label, err = h.chat(t.Chat); err == nil {
			made.Sum, err = h.addressSum(ctx, saved.Chatroom(address.Chat))
		}
	case saved.Webhook:
		address.Secret = newToken()
		address.URL, made.Label, err = h.webhook(t.URL)
	}
	if err == nil {
		made.Address, err = h.seal(made.ID, address)
	}
	shown = showTarget(made.SavedTarget)
	shown.Secret = address.Secret
	return made, shown, err
}

func (h Searches) webhook(address string) (_, label string, err error) {
	address = strings.TrimSpace(address) // what is pasted may have a line break or a blank behind it
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || !saved.HookAllowed(u, h.PlainHosts) {
		return "", "", fault.Newf(fault.Invalid, "targets: the address of a webhook is an absolute URL that begins with "+
			"https://, without a password")
	}
	return address, u.Scheme + "://" + u.Host, nil
}

// email reads an address; its label shows the first letter and the domain.
func (h Searches) email(s string) (address, label string, err error) {
	if !h.Mail {
		return "", "", fault.Newf(fault.Conflict, "e-mail is not set up: CONVEYOR_SMTP_URL of the API is empty")
	}
	address, problem := contact.ReadEmail(s)
	if problem != nil || strings.ContainsAny(address, "\r\n\x00<>\" ") {
		return "", "", fault.Newf(fault.Invalid, "targets: email is not an address such as name@example.org")
	}
	at := strings.LastIndexByte(address, '@')
	return address, string([]rune(address)[:1]) + "…" + address[at:], nil
}

// addressSum is the hash that a saved.Mailbox or saved.Chatroom is known by where it must not stand.
func (h Searches) addressSum(ctx context.Context, address string) ([]byte, error) {
	sealed, err := h.Store.AddressKey(ctx, func() (db.Sealed, error) {
		var key [32]byte
		_, _ = rand.Read(key[:]) // never fails
		return h.sealFor(saved.AddressesPurpose, key[:])
	})
	if err != nil {
		return nil, err
	}
	key, err := h.Secrets.Open(saved.AddressesPurpose, sealed.Key, sealed.Box)
	if err != nil {
		return nil, fault.Newf(fault.Conflict, "e-mail addresses and chats cannot be added: %w", err)
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(address))
	return mac.Sum(nil), nil
}

var telegramChat = regexp.MustCompile(`^(-?[0-9]{1,20}|@[A-Za-z][A-Za-z0-9_]{3,31})$`)

// chat reads the ID of a chat, whose label shows its end, or the name of a public channel. An ID has one form: by
// another one, of leading zeros, the same chat would be asked to confirm again.
func (h Searches) chat(s string) (chat, label string, err error) {
	id, err := strconv.ParseInt(s, 10, 64)
	named := strings.HasPrefix(s, "@")
	switch {
	case !h.Telegram:
		return "", "", fault.Newf(fault.Conflict, "Telegram is not set up: CONVEYOR_TELEGRAM_TOKEN of the API is empty")
	case !telegramChat.MatchString(s), !named && (err != nil || id == 0):
		return "", "", fault.Newf(fault.Invalid, "targets: chat is neither the ID of a chat nor the @name of a channel")
	case named:
		return s, s, nil
	}
	s = strconv.FormatInt(id, 10)
	return s, "…" + s[max(0, len(s)-3):], nil
}

// seal encrypts the address of a target.
func (h Searches) seal(id uuid.UUID, a saved.Address) (db.Sealed, error) {
	plain, err := json.Marshal(a)
	if err != nil {
		return db.Sealed{}, err
	}
	return h.sealFor(saved.TargetPurpose(id), plain)
}

func (h Searches) sealFor(purpose string, plain []byte) (db.Sealed, error) {
	if h.Secrets.Key() == "" {
		return db.Sealed{}, fault.Newf(fault.Conflict, "addresses cannot be stored: CONVEYOR_SECRET_KEYS of the API has no "+
			"key to encrypt them by")
	}
	key, box, err := h.Secrets.Seal(purpose, plain)
	return db.Sealed{Key: key, Box: box}, err
}

// newToken is a text of 192 random bits that fits into an address.
func newToken() string {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

func sumOf(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

type addTargetInput struct {
	api.OfTenant
	Search uuid.UUID `path:"search"`
	Body   TargetStart
}

func (h Searches) addTarget(ctx context.Context, tenant string, in *addTargetInput) (*api.Body[SearchTarget], error) {
	made, shown, err := h.target(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	if err := h.Store.AddTarget(ctx, tenant, in.Search, made, api.CallerOf(ctx).Name, h.door.Now()); err != nil {
		return nil, err
	}
	return api.BodyOf(shown), nil
}

type targetInput struct {
	api.OfTenant
	Search uuid.UUID `path:"search"`
	Target uuid.UUID `path:"target"`
}

func (h Searches) removeTarget(ctx context.Context, tenant string, in *targetInput) (*struct{}, error) {
	return nil, h.Store.DeleteTarget(ctx, tenant, in.Search, in.Target, api.CallerOf(ctx).Name, h.door.Now())
}

func (h Searches) challenge(ctx context.Context, tenant string, in *targetInput) (*api.Body[SearchTarget], error) {
	t, err := h.Store.Challenge(ctx, tenant, in.Search, in.Target, api.CallerOf(ctx).Name, h.door.Now())
	return api.BodyOf(showTarget(t)), err
}

// showFeed adds the addresses of the feed with a token.
func (h Searches) showFeed(t *SearchTarget, token string) {
	t.AtomURL, t.JSONURL = h.door.URL+"/feeds/"+token+".atom", h.door.URL+"/feeds/"+token+".json"
}

type rotateTargetInput struct {
	api.OfTenant
	Search  uuid.UUID `path:"search"`
	Target  uuid.UUID `path:"target"`
	Overlap int       `query:"overlap_hours" default:"24" minimum:"0" maximum:"168" doc:"of a webhook: for how many hours it is signed with the secret before, too; 0 = that one is good no more"`
}

// rotateTarget replaces the secret of a webhook, or the addresses of a feed.
func (h Searches) rotateTarget(ctx context.Context, tenant string, in *rotateTargetInput) (
	*api.Body[SearchTarget], error,
) {
	now, token := h.door.Now(), newToken()
	var address saved.Address
	t, err := h.Store.Rotate(ctx, tenant, in.Search, in.Target, api.CallerOf(ctx).Name, now, func(
		t dblistings.SavedTarget, had db.Sealed,
	) (made db.Sealed, sum []byte, err error) {
		switch t.Kind {
		case saved.Feed:
			return had, sumOf(token), nil
		case saved.Webhook:
		case saved.Email, saved.Telegram:
			return made, nil, fault.Newf(fault.Conflict, "the target %s is neither a webhook nor a feed: it has nothing to rotate",
				t.ID)
		}
		plain, err := h.Secrets.Open(saved.TargetPurpose(t.ID), had.Key, had.Box)
		if err == nil {
			err = json.Unmarshal(plain, &address)
		}
		if err != nil {
			return made, nil, fault.Newf(fault.Conflict, "the secret cannot be rotated: %w", err)
		}
		address.Rotate(token, now, now.Add(time.Duration(in.Overlap)*time.Hour))
		made, err = h.seal(t.ID, address)
		return made, nil, err
	})
	if err != nil {
		return nil, err
	}
	shown := showTarget(t)
	if t.Kind == saved.Feed {
		h.showFeed(&shown, token)
	} else {
		shown.Secret, shown.BeforeUntil = address.Secret, address.BeforeUntil
	}
	return api.BodyOf(shown), nil
}
