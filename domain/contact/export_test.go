package contact

// Storable is storable, for tests.
func Storable(s string) string { return storable(s) }
