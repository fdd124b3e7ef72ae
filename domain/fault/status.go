package fault

// OfStatus is the class of an HTTP status, and "" below 400: the one table that fetching, scraping, drafts and
// robots.txt go by. What a caller knows better, such as that 403 is how a site refuses robots, it decides before.
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
