package drafts_test

import (
	"testing"

	"github.com/mtlrent/conveyor/db/dbtest"
)

func TestSQL(t *testing.T) {
	t.Parallel()
	dbtest.SQL(t, 10)
}
