package page

import (
	"strings"
	"unicode"
)

// rules applies rules for robots, as a meta element or a header has them: "noindex, nofollow".
func rules(list string) (noIndex, noFollow bool) {
	for rule := range strings.FieldsFuncSeq(strings.ToLower(list), func(c rune) bool {
		return c == ',' || c == ';' || c <= ' '
	}) {
		noIndex = noIndex || rule == "noindex" || rule == "none"
		noFollow = noFollow || rule == "nofollow" || rule == "none"
	}
	return noIndex, noFollow
}

// valued are the rules that have a value behind a colon, where others have the name of a robot before it.
var valued = map[string]bool{"unavailable_after": true, "max-snippet": true, "max-image-preview": true,
	"max-video-preview": true}

// RobotsTag reads the X-Robots-Tag headers of an answer, one value each: rules for every robot, "noindex", and for one,
// "conveyorbot: noindex, nofollow", which hold until another is named. agent is the product token of our robot, in
// lower case.
func RobotsTag(values []string, agent string) (noIndex, noFollow bool) {
	for _, v := range values {
		ours := true
		for part := range strings.SplitSeq(v, ",") {
			if name, rest, ok := strings.Cut(part, ":"); ok {
				name = strings.ToLower(strings.TrimSpace(name))
				us := name == agent || name == "*"
				if !us && !namesRobot(name, rest) {
					continue
				}
				ours, part = us, rest
			}
			if ours {
				index, follow := rules(part)
				noIndex, noFollow = noIndex || index, noFollow || follow
			}
		}
	}
	return noIndex, noFollow
}

// namesRobot says that what stands before a colon is the name of a robot: "mj12bot", "mail.ru_bot". It is none in a
// rule with a value, and in a date, which goes on with a digit: "25 jun 2010 15:00:00".
func namesRobot(name, rest string) bool {
	return !valued[name] && strings.ContainsFunc(name, unicode.IsLetter) && !strings.ContainsFunc(name, unicode.IsSpace) &&
		strings.IndexAny(strings.TrimSpace(rest), "0123456789") != 0
}
