package campaign

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// IsOptOut says that a message is a request for no more messages, in English, French, Spanish, Portuguese, Dutch or
// German, in any case and with or without accents and punctuation. It is nothing but words that mean it, with
// courtesies around them: "Stop. Thank you", "I would like to unsubscribe". Or a sentence or a part of one is such a
// request and means nothing else, and no other takes it back: "I have found a flat, please take me off your list". Or
// "stop" stands in capitals, or beside a reason to want no messages: "Wrong number, stop". "Stop by tomorrow, please",
// "I would like to cancel" and "Can I stop now?" are none, nor is what ends something else: "Don't call, text me".
func IsOptOut(text string) bool {
	without := undotted(text)
	return asksForNoMore(text) || without != text && asksForNoMore(without)
}

func asksForNoMore(text string) bool {
	words, parts := withoutFillers(bareWords(text, longestRequest)), parts(text)
	return !asksForMore(text, words) && (endsForEver(words) || !endsSomethingElse(parts) &&
		(means(reach(words, optOut())) || len(words) > 1 && isOptOutAmong(parts)))
}

// asksForMore says that a message is one question, whether there is no more: "Keine Angebote mehr?"
func asksForMore(text string, words []string) bool {
	text = strings.TrimSpace(text)
	if mark := strings.IndexFunc(text, ends); len(words) < 2 || mark < 0 || text[mark:] != "?" {
		return false
	}
	return slices.Contains(nones, words[0]) || words[0] == "no" && (words[1] == "more" || words[1] == "mas")
}

// nones begin a demand for no more of something, and a question for more of it.
var nones = one("keine|keinen|geen|plus")

// isOptOutAmong says that one of the parts of a message is a request, and none of the others speaks against it.
func isOptOutAmong(parts []part) bool {
	plainly, bare, weak, why, other := false, false, false, false, false
	for _, part := range parts {
		left, right, found := around(part.words, reasons())
		// "I don't need emails" is more than a reason, and "Enough" may be beside one.
		whole := reach(part.words, optOut())
		if whole&plain != 0 || whole&weakly != 0 && len(left)+len(right) == 0 {
			left, right, found = part.words, nil, false
		}
		if !found && whole == 0 && (plainly && (contains(part.words, reservations) || part.isTime()) ||
			!plainly && len(part.words) > 1 && contains(part.words, conditions)) {
			return false
		}
		if why = why || found; found {
			left, right = withoutGlue(left, right)
		}
		for _, words := range [][]string{left, right} {
			state := reach(words, optOut())
			plainly = plainly || state&plain != 0 || state&said != 0 && part.loud
			bare = bare || state&(said|threatened) != 0
			weak = weak || state&weakly != 0 && !found // "não preciso sair" is one sentence
			other = other || !found && len(words) > 0 && state&(nothing|agreed|said|plain|weakly|warned|threatened) == 0
		}
		other = other || len(part.words) == 0
	}
	return plainly || !other && (bare || weak && why)
}

// IsOptOutTitle says that the title of a button or a row is such a request: "Remove" is an answer like "Keep".
func IsOptOutTitle(title string) bool {
	return IsOptOut(title) && strings.Join(bareWords(title, longestName), " ") != "remove"
}

// IsOptIn says that a message, which a person has typed, takes back such a request. It is nothing but one of a list of
// words in English, French, Spanish and Portuguese, with courtesies around them.
func IsOptIn(text string) bool { return means(reach(bareWords(text, longestName), optIn())) }

// IsOptOutPayload says that the payload of a button or a row, which its sender chose and the person may never have
// seen, means nothing but a stop.
func IsOptOutPayload(payload string) bool {
	words := strings.Join(bareWords(payload, longestName), " ")
	return words == "stop" || slices.Contains(stopPayloads, words)
}

// What a message says up to one of its words; none = it cannot be read so far.
const (
	nothing = 1 << iota // but courtesies
	agreed
	asked
	halted   // by one of halts, or "stop" that is asked for
	removed  // likewise
	demanded // an end, of what is still to be said: "no more"
	named    // as halted, said or demanded, with the first words for what is to end: "stop your"
	hinted   // by what is a stop on its own
	said     // by one of stops
	sent     // plainly, by a verb that may have an object: "stop sending me"
	sending  // that, with the first words of the object: "stop sending me this"
	plain    // by what means nothing but a stop
	weakly   // by one of weakStops
	warned   // of what follows the next message, which is still to be said: "if you write again"
	threatened
	owned  // what is the person's: "my number"
	denied // where that must not be, which is still to be said: "my number should not be"
	kept   // likewise, where German says the place before it: "meine Nummer hat"
	stored // that, with the place: "meine Nummer hat in Ihrer Datenbank"
	taken  // what is the person's, and from where, for a verb behind it: "mich von der Liste"
)

// A move is what some phrases make of what was said before them.
type move struct {
	from, to int // to: 0 = nothing else
	phrases  []string
}

// A grammar has the moves of each phrase, and the most words that a phrase has.
type grammar struct {
	of   map[string][]move
	most int
}

const (
	anyState = 1<<20 - 1
	fresh    = nothing | agreed | hinted | said | sent | plain // a request may begin here
)

var (
	optOut = sync.OnceValue(func() grammar {
		return indexed([]move{
			{anyState, 0, courtesies},
			{nothing | hinted | said | plain, hinted, stopWords},
			{fresh | asked, plain, clearWords()},
			{fresh | asked, plain, stopPayloads},
			{fresh | asked, plain, noCallsOrMessages()},
			{fresh | asked, plain, objections()},
			{fresh | warned, threatened, threats()},
			{warned, threatened, vows()},
			{nothing, warned, nextTime()},
			{threatened, threatened, nextTime()},
			{plain, plain, norMessages()},
			{plain, plain, withMessages()},
			{fresh, said, stops},
			{fresh, weakly, weakStops},
			{asked, halted, stops},
			{fresh | asked, halted, halts},
			{fresh | asked, sent, sendings()},
			{fresh | asked, demanded, demands()},
			{halted | said | demanded | named, named, determiners},
			{halted | said | plain | demanded | named, plain, ofMessages},
			{sent | sending, sending, determiners},
			{sent | sending, plain, ofMessages},
			{sent | sending, plain, ofSendings},
			{fresh | asked, removed, []string{"remove"}},
			{fresh | asked, removed, takings()},
			{removed | plain, plain, fromLists()},
			{fresh | asked, owned, ourThings},
			{owned, denied, mustNotBe()},
			{denied, plain, inLists()},
			{owned, kept, []string{"hat", "haben"}},
			{kept, stored, inLists()},
			{stored, plain, []string{"nichts zu suchen", "nichts verloren"}},
			{owned, taken, fromLists()},
			{taken, plain, one("streichen|loschen|nehmen|entfernen|austragen|abmelden|rausnehmen|herausnehmen")},
			{said, said, endings},
			{sent | plain, plain, endings},
			{weakly, weakly, endings},
			{said | sent | plain | weakly, 0, assents},
			{nothing | agreed | hinted, agreed, assents},
			{fresh, asked, requests},
		})
	})
	optIn = sync.OnceValue(func() grammar {
		return indexed([]move{
			{anyState, 0, courtesies},
			{nothing | hinted, hinted, startWords},
		})
	})
)

func indexed(list []move) grammar {
	m := grammar{of: map[string][]move{}}
	for _, one := range list {
		for _, phrase := range one.phrases {
			m.of[phrase] = append(m.of[phrase], move{from: one.from, to: one.to})
			m.most = max(m.most, strings.Count(phrase, " ")+1)
		}
	}
	return m
}

// means says that what was said is a request.
func means(state int) bool { return state&(hinted|said|sent|plain|threatened) != 0 }

// reach is what words say, as a row of phrases; sent is plain at their end.
func reach(words []string, m grammar) int {
	if len(words) == 0 || slices.Contains(joints, words[0]) || slices.Contains(joints, words[len(words)-1]) {
		return 0
	}
	state := make([]int, len(words)+1) // after as many words
	state[0] = nothing
	for i, was := range state[:len(words)] {
		for n := 1; was != 0 && n <= min(len(words)-i, m.most); n++ {
			for _, move := range m.of[strings.Join(words[i:i+n], " ")] {
				switch {
				case was&move.from == 0:
				case move.to == 0:
					state[i+n] |= was & move.from
				default:
					state[i+n] |= move.to
				}
			}
		}
	}
	end := state[len(words)]
	if end&sent != 0 {
		end |= plain
	}
	return end
}

// A part of a message is a sentence, or a part of it between commas and other marks and words that join or begin one.
type part struct {
	words []string
	loud  bool   // it is written in capitals, or the last and asked with a "please"; and nothing else is a question
	joint string // the one of joiners before it, if any
}

// isTime says that a part is the time until which nothing is wanted: "before Monday", not "before I call the police".
func (p part) isTime() bool {
	few := len(p.words) == 1 || len(p.words) == 2
	return few && slices.Contains(untils, p.joint) && !slices.Contains(persons, p.words[0])
}

func parts(text string) []part {
	if len(text) > longestRequest {
		return nil
	}
	var out []part
	asks, begged := strings.ContainsAny(text, "?¿"), false // the last sentence is: by fillers
	for sentence := range strings.FieldsFuncSeq(text, ends) {
		all := bareWords(sentence, longestRequest)
		count := len(all)
		words := withoutFillers(all)
		if len(words) == 0 {
			continue
		}
		begged = len(words) < count
		loud, from, joint := !asks && sentence == strings.ToUpper(sentence), 0, ""
		for i, word := range words {
			if slices.Contains(joiners, word) {
				out = append(out, part{words[from:i], loud, joint})
				from, joint = i+1, word
			}
		}
		out = append(out, part{words[from:], loud, joint})
	}
	for i, p := range out {
		if len(p.words) > 1 && slices.Contains(contrasts, p.words[0]) {
			out[i].words = p.words[1:]
		}
	}
	if begged && !asks {
		out[len(out)-1].loud = true
	}
	return out
}

// dotted are abbreviations, whose dots end no sentence, or their last one does: "s.v.p.", "at 5 a.m."
var dotted = regexp.MustCompile(`\b(?:\pL\.){2,}(?:\pL\b)?`)

func undotted(text string) string {
	if len(text) > longestRequest {
		return text
	}
	return dotted.ReplaceAllStringFunc(text, func(s string) string { return strings.ReplaceAll(s, ".", "") + " " })
}

// ends are the marks between sentences and their parts.
func ends(r rune) bool { return strings.ContainsRune(",.;:!?¿¡\n()…–—", r) }

// around are the words before and after the longest of phrases that comes first in words; all are before where none is.
func around(words []string, phrases map[string]bool) (left, right []string, found bool) {
	for i := range words {
		for n := min(len(words)-i, mostReason); n > 0; n-- {
			if phrases[strings.Join(words[i:i+n], " ")] {
				return words[:i], words[i+n:], true
			}
		}
	}
	return words, nil, false
}

// withoutGlue are words before a reason without glue at their end, and those behind it without any at their beginning,
// but for ofNouns.
func withoutGlue(before, behind []string) (left, right []string) {
	for len(before) > 0 && slices.Contains(glue, before[len(before)-1]) {
		before = before[:len(before)-1]
	}
	for len(behind) > 0 && slices.Contains(glue, behind[0]) && !slices.Contains(ofNouns, behind[0]) {
		behind = behind[1:]
	}
	return before, behind
}

func contains(words, some []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(some, w) })
}

func withoutFillers(words []string) []string {
	return slices.DeleteFunc(words, func(w string) bool { return slices.Contains(fillers, w) })
}

// Bounds of texts that are read, in bytes.
const (
	longestName    = 200 // of what is only a name of a wish
	longestRequest = 400
)

// bareWords are the words of a short text, in the notation of stopWords; none of a text of more bytes than longest.
func bareWords(text string, longest int) []string {
	if len(text) > longest {
		return nil
	}
	bare := strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Mn, unicode.Cf):
			return -1
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return ' '
	}, norm.NFKD.String(text))
	return spelled(strings.Fields(bare))
}

// spelled are the words, one where all of them are single letters: "S.T.O.P".
func spelled(words []string) []string {
	if len(words) < 3 || slices.ContainsFunc(words, func(w string) bool { return utf8.RuneCountInString(w) > 1 }) {
		return words
	}
	return []string{strings.Join(words, "")}
}
