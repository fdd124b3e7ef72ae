package saved

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mtlrent/conveyor/domain/page"
)

// A Language is one that notices are written in.
type Language string

// The languages.
const (
	English Language = "en"
	French  Language = "fr"
)

// Languages are all of them.
var Languages = []Language{English, French}

// wording is the texts of a language. Those with verbs take what their names say, in this order.
type wording struct {
	separator                            string // of thousands
	point                                string // before cents
	fresh, drop, dropFrom, back          string // title, rent, and for dropFrom the rent before
	homes                                string // number, name of the search
	more                                 string // number
	gone                                 string
	why, stop                            string // why: name of the search
	ask, askWhy, askWhat, confirm, never string // askWhat: name of the search
	chatWhy, chatConfirm                 string // askWhy and confirm, of a Telegram chat
}

var wordings = map[Language]*wording{
	English: {
		separator: ",", point: ".",
		fresh: "New: %s, %s a month", drop: "Price drop: %s, %s a month",
		dropFrom: "Price drop: %s, %s a month instead of %s", back: "Back again: %s, %s a month",
		homes: "%d homes: %s", more: "and %d more", gone: "no longer offered",
		why:  "You receive this because you confirmed that you want news of the search “%s”.",
		stop: "Unsubscribe",
		ask:  "Please confirm: news of homes for rent", askWhy: "Someone entered this address to receive news of homes for rent.",
		askWhat: "To receive the news of the search “%s”, confirm it:", confirm: "Confirm this address",
		never:   "If it was not you, ignore this: without your confirmation nothing else is sent. Or refuse for good:",
		chatWhy: "Someone entered this chat to receive news of homes for rent.", chatConfirm: "Confirm this chat",
	},
	French: {
		separator: "\u00a0", point: ",",
		fresh: "Nouveau : %s, %s par mois", drop: "Baisse de prix : %s, %s par mois",
		dropFrom: "Baisse de prix : %s, %s par mois au lieu de %s", back: "De retour : %s, %s par mois",
		homes: "%d logements : %s", more: "et %d de plus", gone: "n’est plus offert",
		why:     "Vous recevez ce message parce que vous avez confirmé vouloir des nouvelles de la recherche « %s ».",
		stop:    "Ne plus rien recevoir à ce sujet",
		ask:     "Veuillez confirmer : nouvelles de logements à louer",
		askWhy:  "Quelqu’un a donné cette adresse pour être informé de logements à louer.",
		askWhat: "Pour recevoir les nouvelles de la recherche « %s », confirmez-la :", confirm: "Confirmer cette adresse",
		never: "Si ce n’était pas vous, ignorez ce message : sans votre confirmation, rien d’autre n’est envoyé. " +
			"Ou refusez pour de bon :",
		chatWhy:     "Quelqu’un a donné cette conversation pour être informé de logements à louer.",
		chatConfirm: "Confirmer cette conversation",
	},
}

// words of a language; of one that is not known, the English ones.
func (l Language) words() *wording {
	if w := wordings[l]; w != nil {
		return w
	}
	return wordings[English]
}

// Headline is an item in a line: "New: 3½ near the park, 1,450 $ a month".
func (i Item) Headline() string { return i.HeadlineIn(English) }

// HeadlineIn is Headline in a language.
func (i Item) HeadlineIn(l Language) string {
	w, title, rent := l.words(), fold(i.Title), l.Dollars(i.RentCents)
	switch {
	case i.Kind == PriceDrop && i.OldRentCents != nil:
		return fmt.Sprintf(w.dropFrom, title, rent, l.Dollars(*i.OldRentCents))
	case i.Kind == PriceDrop:
		return fmt.Sprintf(w.drop, title, rent)
	case i.Kind == Back:
		return fmt.Sprintf(w.back, title, rent)
	}
	return fmt.Sprintf(w.fresh, title, rent)
}

// fold makes one line of a text.
func fold(s string) string { return strings.Join(strings.Fields(s), " ") }

// Dollars writes CAD cents as 1,450 $, with cents only where there are some.
func Dollars(cents int64) string { return English.Dollars(cents) }

// Dollars writes CAD cents as the language does: 1,450 $ or 1 450 $.
func (l Language) Dollars(cents int64) string {
	w := l.words()
	whole := strconv.FormatInt(cents/100, 10)
	for n := len(whole) - 3; n > 0; n -= 3 {
		whole = whole[:n] + w.separator + whole[n:]
	}
	if cents%100 != 0 {
		whole += fmt.Sprintf("%s%02d", w.point, cents%100)
	}
	if l == French {
		return whole + "\u00a0$"
	}
	return whole + " $"
}

// A Letter is the words of a notice, for a person. Each text is a line without markup; it holds what adverts say, so a
// format that has markup must escape it.
type Letter struct {
	Subject string
	Intro   []string // lines before the items
	Items   []LetterItem
	More    string // how many items are left out; "" = none
	Why     string // why it is sent
	Confirm string // label of the link that confirms the address; "" = there is none
	Never   string // what comes before the link that stops it, where the address is not confirmed
	Stop    string // label of the link that stops it
}

// A LetterItem is a home in a Letter.
type LetterItem struct {
	Headline string
	Where    string // address and district; "" = unknown
	Change   string // of a price drop: "1,450 $ → 1,390 $"
	Note     string // it is no longer offered
	URL      string // of the advert; "" = it has none that a link may lead to
}

// MaxLetterItems is how many homes a letter names.
const MaxLetterItems = 50

// Bounds on a subject, and on the name of a search in a question to confirm an address, which is a text of somebody
// else for a stranger; in characters.
const (
	maxSubject = 150
	maxAskName = 60
)

// Letter writes a notice.
func (n *Notice) Letter() Letter {
	w, name := n.Language.words(), fold(n.Name)
	if n.Confirms {
		why, confirm := w.askWhy, w.confirm
		if n.Channel == Telegram {
			why, confirm = w.chatWhy, w.chatConfirm
		}
		return Letter{
			Subject: w.ask, Intro: []string{why, fmt.Sprintf(w.askWhat, page.Short(name, maxAskName))},
			Confirm: confirm, Never: w.never, Stop: w.stop,
		}
	}
	out := Letter{Subject: fmt.Sprintf(w.homes, len(n.Items)+n.More, name), Why: fmt.Sprintf(w.why, name), Stop: w.stop}
	if len(n.Items) == 1 {
		out.Subject = n.Items[0].HeadlineIn(n.Language)
	}
	out.Subject = page.Short(out.Subject, maxSubject)
	for k, i := range n.Items {
		if k == MaxLetterItems {
			out.More = n.Language.More(len(n.Items) - k + n.More)
			break
		}
		l := LetterItem{Headline: i.HeadlineIn(n.Language)}
		if strings.HasPrefix(i.URL, "https://") || strings.HasPrefix(i.URL, "http://") {
			l.URL = i.URL
		}
		switch address, district := fold(i.Address), fold(i.District); {
		case address == "" || strings.Contains(address, district):
			l.Where = address
			if address == "" {
				l.Where = district
			}
		default:
			l.Where = address + " (" + district + ")"
		}
		if i.Kind == PriceDrop && i.OldRentCents != nil {
			l.Change = n.Language.Dollars(*i.OldRentCents) + " → " + n.Language.Dollars(i.RentCents)
		}
		if !i.Offered {
			l.Note = w.gone
		}
		out.Items = append(out.Items, l)
	}
	return out
}

// More says how many homes are left out.
func (l Language) More(n int) string { return fmt.Sprintf(l.words().more, n) }
