package demosite

import "strings"

// Searches are the first search pages of both halves of a site at base, as CONVEYOR_SCRAPE takes them.
func Searches(base string) string {
	return strings.Join([]string{Kijiji + "=" + base + kijijiPath, Kangalou + "=" + base + kangalouPath}, ",")
}

// AllSearches are those of Searches, and Centris' search.
func AllSearches(base string) string {
	return Searches(base) + "," + Centris + "=" + base + centrisPath()
}
