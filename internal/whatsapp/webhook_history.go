package whatsapp

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/mtlrent/conveyor/domain/campaign"
)

// history is the value of a change of the field history: the chats of a number, of up to six months, from the time
// before it was connected, in many requests. Some of it is of the sender itself, as is told in one of three ways.
type history struct {
	Metadata struct {
		PhoneNumberID string `json:"phone_number_id"`
	} `json:"metadata"`
	History []struct {
		Threads []struct {
			ID      string `json:"id"` // the person's number
			Context struct {
				WaID string `json:"wa_id"`
				User string `json:"user_id"`
			} `json:"context"`
			Messages []json.RawMessage `json:"messages"`
		} `json:"threads"`
	} `json:"history"`
}

// addHistory adds the messages of a history in which people wish for no more messages, or for more. The others are
// nothing new to anybody, and may be many.
func (e *Event) addHistory(account string, raw json.RawMessage) {
	var v history
	if e.decode(raw, &v) != nil {
		return
	}
	sender := cut(v.Metadata.PhoneNumberID)
	for _, h := range v.History {
		for _, t := range h.Threads {
			numbers := []string{withoutPlus(t.ID), withoutPlus(t.Context.WaID)}
			for _, m := range t.Messages {
				if !writtenBy(m, numbers, cut(t.Context.User)) {
					continue
				}
				in, ok := e.readInbound(account, sender, nil, m)
				if !ok {
					e.unread("a message of a history has no ID")
				}
				wish := in.inbound().Wants() // one for more of no time may be older than a stop
				if !ok || wish == "" || wish == campaign.WishResume && in.At.IsZero() {
					continue
				}
				in.User = cmp.Or(in.User, cut(t.Context.User))
				if sender == "" {
					e.unread("a message of a history has no metadata.phone_number_id")
				}
				e.Messages = append(e.Messages, in)
			}
		}
	}
}

// writtenBy says that a message of a chat is the person's, who has one of numbers or the user ID, which may be empty.
func writtenBy(raw json.RawMessage, numbers []string, user string) bool {
	var m struct {
		From     string `json:"from"`
		FromUser string `json:"from_user_id"`
		To       string `json:"to"`
		ToUser   string `json:"to_user_id"`
		Context  struct {
			FromMe bool `json:"from_me"`
		} `json:"history_context"`
	}
	if !decode(raw, &m) || m.To != "" || m.ToUser != "" || m.Context.FromMe {
		return false
	}
	if m.From == "" {
		return m.FromUser != "" && m.FromUser == user
	}
	return slices.Contains(numbers, withoutPlus(m.From))
}
