//go:build !linux

package browser

// process and family know nothing here: without /proc there is no sure way to tell our processes from others. Memory is
// not watched, and what hangs is left to the driver.
type process struct{ pid int }

type family struct{ driver process }

func drivers(string) map[int]process { return nil }

func (f *family) find()              {}
func (f *family) members() []process { return nil }
func (f *family) alive() bool        { return true }
func (f *family) rss() int64         { return 0 }
func (f *family) kill()              {}
