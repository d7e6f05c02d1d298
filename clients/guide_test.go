package clients_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"petstore.example/internal/test/assert"
)

func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/" + name)
	assert.NoError(t, err)
	return string(text)
}

// TestGuideRetryAfter: docs/clients.md names only values that the vectors have, with what these
// want.
func TestGuideRetryAfter(t *testing.T) {
	t.Parallel()
	var vectors []struct {
		Exchanges []struct {
			Wait     []float64
			Response struct{ Headers map[string]string }
		}
	}
	text, err := os.ReadFile("testdata/waits.json")
	assert.NoError(t, err)
	assert.NoError(t, json.Unmarshal(text, &vectors))
	meant := map[string]string{}
	for _, v := range vectors {
		value, does := v.Exchanges[0].Response.Headers["Retry-After"], "does not wait"
		if len(v.Exchanges) > 1 {
			switch wait := v.Exchanges[1].Wait[0]; wait {
			case 0:
				does = "waits a random time up to 1,"
			case 1:
				does = "waits 1 second"
			default:
				does = "waits "
			}
		}
		meant[value] = does
	}
	meant["1"], meant["Sun, 06 Nov 1994 08:49:37 GMT"] = "waits that long", "waits until then"
	_, table, _ := strings.Cut(document(t, "clients.md"), "| `Retry-After` | a client |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := regexp.MustCompile("(?m)^\\| ([^|]*`[^|]*) \\| ([^|]*) \\|$").FindAllStringSubmatch(table, -1)
	assert.Equal(t, len(rows), 5, "rows")
	for _, row := range rows {
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			if want := meant[quoted[1]]; want == "" || !strings.HasPrefix(row[2], want) {
				t.Errorf("%s: the vectors have %q, and the page says %q", quoted[1], want, row[2])
			}
		}
	}
}

// TestGuideWaits: docs/clients.md says how many waits a number of requests takes, by the plans of
// docs/rate-limiting.md.
func TestGuideWaits(t *testing.T) {
	t.Parallel()
	number := func(text string) int {
		n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
		assert.NoError(t, err)
		return n
	}
	sold, _, _ := strings.Cut(document(t, "rate-limiting.md"), "\n## ")
	limits := regexp.MustCompile(`(?m)^\| (?:Free|Pro|Business) \| ([\d,]+) \| ([\d,]+) \|$`).
		FindAllStringSubmatch(sold, -1)
	rows := regexp.MustCompile(`(?m)^\| ([\d,]+) \| ([\w ]+) \| ([\w ]+) \| ([\w ]+) \|$`).
		FindAllStringSubmatch(document(t, "clients.md"), -1)
	assert.Equal(t, len(limits), 3, "plans")
	assert.Equal(t, len(rows), 4, "rows")
	for _, row := range rows {
		for i, limit := range limits {
			requests, perMinute, want := number(row[1]), number(limit[1]), "over the day"
			if requests <= number(limit[2]) {
				want = strconv.Itoa((requests + perMinute - 1) / perMinute)
			}
			assert.Equal(t, row[2+i], want, row[0])
		}
	}
}
