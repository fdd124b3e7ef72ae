package contact

import (
	"fmt"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"

	"github.com/nyaruka/phonenumbers"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
)

// TestQuick proves what quick relies on: whether a number of ten digits matches a pattern of a country with +1 is
// settled by its first six digits, for every pattern of every such country, but in the area codes of quickNot.
func TestQuick(t *testing.T) {
	t.Parallel()

	all, err := phonenumbers.MetadataCollection()
	require.NoError(t, err)
	patterns := 0
	for _, m := range all.GetMetadata() {
		if m.GetCountryCode() != 1 {
			continue
		}
		if l := m.GetLeadingDigits(); l != "" {
			patterns++
			if !settled("^(?:" + l + ")") {
				t.Errorf("%s: the leading digits %s look beyond six digits", m.GetId(), l)
			}
		}
		for _, d := range []*phonenumbers.PhoneNumberDesc{m.GetGeneralDesc(), m.GetFixedLine(), m.GetMobile(), m.GetTollFree(),
			m.GetPremiumRate(), m.GetSharedCost(), m.GetPersonalNumber(), m.GetVoip(), m.GetPager(), m.GetUan(), m.GetVoicemail()} {
			if p := d.GetNationalNumberPattern(); p != "" {
				patterns++
				if !settled("^(?:" + p + ")$") {
					t.Errorf("%s: %s looks beyond six digits", m.GetId(), p)
				}
			}
		}
	}
	require.GreaterOrEqual(t, patterns, 50, "patterns that were looked at")
	if settled(`^(?:514555\d{3}[0-8])$`) || settled(`^5145551`) || !settled(`^(?:51455[0-4]\d{4}|900\d{7})$`) {
		t.Error("the proof itself is wrong")
	}
}

// settled says that a pattern's answer for ten digits depends on the first six only. It runs the automaton of the pattern
// for all digits at once: the states that six digits lead to are few, and each must answer all further four alike.
func settled(pattern string) bool {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(err)
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		panic(err)
	}
	a := automaton{prog: prog, memo: map[string][2]bool{}}
	start, matched := a.closure([]uint32{uint32(prog.Start)}, true, false)
	level, won := map[string][]uint32{}, map[string]bool{}
	for npa := range 1000 { // by itself, for some are left out
		digits := fmt.Sprintf("%03d", npa)
		if slices.Contains(quickNot, digits) {
			continue
		}
		states, m := start, matched
		for _, d := range digits {
			to, now := a.step(states, d)
			states, m = to, m || now
		}
		level[name(states, m)], won[name(states, m)] = states, m
	}
	for range 3 {
		next, nextWon := map[string][]uint32{}, map[string]bool{}
		for key, states := range level {
			for d := rune('0'); d <= '9'; d++ {
				to, m := a.step(states, d)
				m = m || won[key]
				next[name(to, m)], nextWon[name(to, m)] = to, m
			}
		}
		level, won = next, nextWon
	}
	for key, states := range level {
		if got := a.answers(states, won[key], 4); got[0] && got[1] {
			return false
		}
	}
	return true
}

type automaton struct {
	prog *syntax.Prog
	memo map[string][2]bool
}

func name(states []uint32, matched bool) string { return fmt.Sprint(states, matched) }

// closure follows what needs no character. At the end of the text $ holds. A match without $ is won for good, since
// MatchString does not look at what follows.
func (a automaton) closure(from []uint32, begin, end bool) (states []uint32, matched bool) {
	seen := map[uint32]bool{}
	var walk func(uint32)
	walk = func(pc uint32) {
		if seen[pc] {
			return
		}
		seen[pc] = true
		switch in := a.prog.Inst[pc]; in.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			walk(in.Out)
			walk(in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			walk(in.Out)
		case syntax.InstEmptyWidth:
			need := syntax.EmptyOp(in.Arg)
			switch {
			case need&(syntax.EmptyBeginText|syntax.EmptyBeginLine) != 0 && begin,
				need&(syntax.EmptyEndText|syntax.EmptyEndLine) != 0 && end:
				walk(in.Out)
			default:
				states = append(states, pc)
			}
		case syntax.InstMatch:
			matched = true
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			states = append(states, pc)
		}
	}
	for _, pc := range from {
		walk(pc)
	}
	return sorted(states), matched
}

func sorted(s []uint32) []uint32 {
	for i := range s {
		for j := i; j > 0 && s[j] < s[j-1]; j-- {
			s[j], s[j-1] = s[j-1], s[j]
		}
	}
	return s
}

func (a automaton) step(states []uint32, r rune) ([]uint32, bool) {
	var to []uint32
	for _, pc := range states {
		in := a.prog.Inst[pc]
		if strings.HasPrefix(in.Op.String(), "InstRune") && in.MatchRune(r) {
			to = append(to, in.Out)
		}
	}
	return a.closure(to, false, false)
}

// answers are no and yes: whether some n further digits are refused, and accepted.
func (a automaton) answers(states []uint32, matched bool, n int) (got [2]bool) {
	if matched {
		return [2]bool{false, true}
	}
	if n == 0 {
		if _, m := a.closure(states, false, true); m {
			return [2]bool{false, true}
		}
		return [2]bool{true, false}
	}
	key := fmt.Sprint(n, states)
	if got, ok := a.memo[key]; ok {
		return got
	}
	for d := rune('0'); d <= '9'; d++ {
		to, m := a.step(states, d)
		sub := a.answers(to, m, n-1)
		got[0], got[1] = got[0] || sub[0], got[1] || sub[1]
	}
	a.memo[key] = got
	return got
}

// TestQuickAlike reads numbers in both ways.
func TestQuickAlike(t *testing.T) {
	t.Parallel()

	forms := []string{"+1%s%s%s", "%s%s%s", "1%s%s%s", "(%s) %s-%s", "+1 (%s) %s-%s", "%s.%s.%s", "1-%s-%s-%s", " %s %s %s "}
	n, hits := 0, 0
	for npa := 200; npa < 1000; npa += 23 {
		for nxx := 100; nxx < 1000; nxx += 111 {
			for i, form := range forms {
				cell := fmt.Sprintf(form, fmt.Sprint(npa), fmt.Sprint(nxx), fmt.Sprintf("%04d", (npa*nxx*(i+3))%10000))
				region := []string{"CA", "US"}[n%2]
				n++
				phone, country, ok := quick(cell, region)
				p2, c2, wrong := readPhone(cell, region)
				if !ok && slices.Contains(quickNot, fmt.Sprint(npa)) {
					continue
				}
				if ok != (wrong == nil) || phone != p2 || country != c2 {
					t.Fatalf("%q of %s: quick %q %q %v, else %q %q %v", cell, region, phone, country, ok, p2, c2, wrong)
				}
				if ok {
					hits++
				}
			}
		}
	}
	require.GreaterOrEqual(t, hits, n/20, n)
}

// TestPlainNumber has numbers of all countries, in the shapes that plainNumber takes, parsed as they are and without
// what is between the digits.
func TestPlainNumber(t *testing.T) {
	t.Parallel()

	random := rand.New(rand.NewPCG(3, 3))
	n := 0
	for region := range phonenumbers.GetSupportedRegions() {
		example := phonenumbers.GetExampleNumber(region)
		for _, form := range []phonenumbers.PhoneNumberFormat{phonenumbers.INTERNATIONAL, phonenumbers.NATIONAL, phonenumbers.E164} {
			s := phonenumbers.Format(example, form)
			for range 5 {
				compact, ok := plainNumber(s)
				if ok {
					n++
					a, err := phonenumbers.Parse(s, region)
					b, err2 := phonenumbers.Parse(compact, region)
					if (err == nil) != (err2 == nil) || a.GetNationalNumber() != b.GetNationalNumber() ||
						a.GetCountryCode() != b.GetCountryCode() || a.GetNumberOfLeadingZeros() != b.GetNumberOfLeadingZeros() ||
						a.GetExtension() != b.GetExtension() {
						t.Errorf("%q is %v (%v), %q is %v (%v)", s, a, err, compact, b, err2)
					}
				}
				at := 1 + random.IntN(len(s)-1) // one more somewhere
				s = s[:at] + string("0123456789 -()"[random.IntN(14)]) + s[at:]
			}
		}
	}
	require.GreaterOrEqual(t, n, 2000, "numbers that had the shape")
}

// TestParseAlike has numbers of all country codes, real and random, parsed in both ways.
func TestParseAlike(t *testing.T) {
	t.Parallel()

	random := rand.New(rand.NewPCG(5, 5))
	var numbers []string
	for code := range phonenumbers.GetSupportedCallingCodes() {
		example := phonenumbers.GetExampleNumber(phonenumbers.GetRegionCodeForCountryCode(code))
		if example == nil {
			example = phonenumbers.GetExampleNumberForNonGeoEntity(code)
		}
		s := phonenumbers.Format(example, phonenumbers.E164)
		numbers = append(numbers, s, s+"1", s[:len(s)-1])
		for range 20 {
			n := fmt.Sprint("+", code)
			for range 5 + random.IntN(9) {
				n += string("0123456789"[random.IntN(10)])
			}
			numbers = append(numbers, n)
		}
	}
	for n := range 999 {
		numbers = append(numbers, fmt.Sprintf("+%d6123456789", n))
	}
	for _, s := range numbers {
		got, err := parse(s, "")
		want, err2 := phonenumbers.Parse(s, "")
		if (err == nil) != (err2 == nil) || err == nil && !proto.Equal(got, want) {
			t.Errorf("%s is %v (%v), want %v (%v)", s, got, err, want, err2)
		}
	}
	require.GreaterOrEqual(t, len(numbers), 4000)
}
