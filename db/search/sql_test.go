package search_test

import (
	"flag"
	"testing"

	"github.com/mtlrent/conveyor/db/dbtest"
)

func TestSQL(t *testing.T) {
	t.Parallel()
	dbtest.SQL(t, 30)
}

//go:generate go test -vet=off -run ^TestSQLNames$ . -update
var update = flag.Bool("update", false, "write sql_names.go anew")

func TestSQLNames(t *testing.T) {
	t.Parallel()
	dbtest.SQLNames(t, *update)
}
