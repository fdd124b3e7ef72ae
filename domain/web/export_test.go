package web

// Slowly resolves an address by the library alone.
func (b Base) Slowly(href string) (Address, bool) { return b.slow(href) }

// Plainly says whether an address is resolved without the library.
func (b Base) Plainly(href string) bool {
	_, _, known := b.plain(href)
	return known
}
