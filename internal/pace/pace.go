// Package pace keeps the garbage collector from running while the packages of a program are initialized: what they
// make is kept, so that nothing would be collected, at a quarter of the cost of starting. Import it for that: the
// setting stays until the program sets another one. Go initializes packages in the order of their paths, those that
// they import first, so one that imports little comes before most.
package pace

import (
	"os"
	"runtime/debug"
)

// Percent is the garbage that there may be beside what is alive. Of 4 MiB, which is the least that the runtime counts
// with, it is more than all packages take.
const Percent = 400

func init() {
	if _, said := os.LookupEnv("GOGC"); !said {
		debug.SetGCPercent(Percent)
	}
}
