package contact_test

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mtlrent/conveyor/internal/sharedtest"
)

// TestCodes has each code of a problem explained in docs/contacts.md.
func TestCodes(t *testing.T) {
	t.Parallel()

	source := sharedtest.Read(t, "contact.go")
	docs := sharedtest.Read(t, "../../docs/contacts.md")
	codes := regexp.MustCompile(`(?m)^\s+Code\w+\s+= "(\w+)"`).FindAllSubmatch(source, -1)
	for _, code := range codes {
		assert.Contains(t, string(docs), "`"+string(code[1])+"`", code[1])
	}
	require.GreaterOrEqual(t, len(codes), 15)
}
