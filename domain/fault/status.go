package fault

// OfStatus is the class of an HTTP status, and "" below 400: the one table that fetching, scraping, drafts and
// robots.txt go by. A caller that treats a status otherwise, as scraping takes 403 for a refusal, does so before.
func OfStatus(status int) Class {
	switch {
	case status < 400:
		return ""
	case status == 404 || status == 410:
		return Gone
	case status == 401 || status == 403 || status == 451:
		return Blocked
	case status == 429 || status == 503:
		return Throttled
	case status == 408 || status == 421 || status == 425 || status >= 500:
		return Transient
	}
	return Invalid
}
