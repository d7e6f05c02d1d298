package api

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"petstore.example/internal/test/assert"
)

// TestCodesAreDocumented: docs/errors.md lists exactly the codes of the table, in its order.
func TestCodesAreDocumented(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../docs/errors.md")
	assert.NoError(t, err)
	var documented, defined [][2]string
	row := regexp.MustCompile("(?m)^\\| (\\d{3}) \\| `([a-z_]+)` \\| [^|]+ \\| [^|]+ \\|$")
	for _, m := range row.FindAllStringSubmatch(string(document), -1) {
		documented = append(documented, [2]string{m[1], m[2]})
	}
	for _, c := range codes {
		defined = append(defined, [2]string{strconv.Itoa(c.status), c.name})
	}
	assert.DeepEqual(t, documented, defined)
}
