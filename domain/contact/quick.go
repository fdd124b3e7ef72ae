package contact

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nyaruka/phonenumbers"
	"google.golang.org/protobuf/proto"
)

// Numbers of the North American plan (+1 and ten digits) are most of what is imported, and the library takes 20 µs for
// each: it tries the patterns of 25 countries. But for the area codes of quickNot, all of these patterns look at the
// first six digits only (area code and exchange), which TestQuick proves from the library's own data, so its answer is
// kept by them.

// quickly holds 0 for what has not been asked yet, 1 for numbers that do not exist, else the index of the country in
// quickRegions + 2.
var quickly [1_000_000]atomic.Uint32

var quickRegions = phonenumbers.GetRegionCodesForCountryCode(1)

// quickNot are the area codes, of Barbados and Jamaica, in which single digits further on matter.
var quickNot = []string{"246", "876"}

// quick reads a number of the North American plan in its usual notations, exactly as readPhone does. ok is false for
// all others, and for those that do not exist.
func quick(cell, region string) (phone, country string, ok bool) {
	var number [12]byte // +1 and ten digits
	n, dots, plus := 0, 0, false
	for i := 0; i < len(cell); i++ {
		switch c := cell[i]; {
		case c >= '0' && c <= '9':
			if n == 11 {
				return "", "", false
			}
			number[n] = c
			n++
		case c == '+' && i == 0:
			plus = true
		case c == '.': // one could be that of 15145550123.0
			dots++
		case c == ' ' || c == '-' || c == '(' || c == ')':
		default:
			return "", "", false
		}
	}
	if dots == 1 || !plus && region != "CA" && region != "US" {
		return "", "", false
	}
	switch {
	case n == 10 && !plus:
		copy(number[2:], number[:10])
	case n == 11 && number[0] == '1':
		copy(number[2:], number[1:11])
	default:
		return "", "", false
	}
	number[0], number[1] = '+', '1'
	phone = string(number[:])
	if number[2] < '2' || slices.Contains(quickNot, phone[2:5]) {
		return "", "", false
	}
	at, _ := strconv.Atoi(phone[2:8])
	known := quickly[at].Load()
	if known == 0 {
		known = 1
		if parsed, err := phonenumbers.Parse(phone, ""); err == nil {
			if country, ok := countryOf(parsed); ok {
				known = uint32(slices.Index(quickRegions, country)) + 2
			}
		}
		quickly[at].Store(known)
	}
	if known == 1 {
		return "", "", false
	}
	return phone, quickRegions[known-2], true
}

// prefixesOf are, by country code, what the library may take away from the beginning of a national number: a trunk
// prefix, which some write after the country code too. nil = nothing.
var prefixesOf = sync.OnceValue(func() map[int32]*regexp.Regexp {
	m := map[int32]*regexp.Regexp{}
	all, err := phonenumbers.MetadataCollection()
	if err != nil {
		return m // then all numbers go through the library
	}
	for _, r := range all.GetMetadata() {
		code := r.GetCountryCode()
		if phonenumbers.GetRegionCodeForCountryCode(int(code)) != r.GetId() {
			continue
		}
		m[code] = nil
		if p := r.GetNationalPrefixForParsing(); p != "" {
			m[code] = regexp.MustCompile("^(?:" + p + ")")
		}
	}
	return m
})

// parse is phonenumbers.Parse. It spares its many patterns for + and digits only, of a country of which nothing can be
// taken away from the number: then the number is what stands there. TestParseAlike compares the two.
func parse(s, region string) (*phonenumbers.PhoneNumber, error) {
	digits, plus := strings.CutPrefix(s, "+")
	if !plus || len(digits) < 8 || len(digits) > 15 || digits[0] == '0' || strings.Trim(digits, "0123456789") != "" {
		return phonenumbers.Parse(s, region)
	}
	for n := 1; n <= 3; n++ {
		code, _ := strconv.Atoi(digits[:n])
		prefix, ok := prefixesOf()[int32(code)]
		if !ok {
			continue
		}
		national := digits[n:]
		if national[0] == '0' || prefix != nil && prefix.MatchString(national) {
			break
		}
		number, _ := strconv.ParseUint(national, 10, 64)
		return &phonenumbers.PhoneNumber{CountryCode: proto.Int32(int32(code)), NationalNumber: proto.Uint64(number)}, nil
	}
	return phonenumbers.Parse(s, region)
}
