package keys_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"petstore.example/internal/keys"
	"petstore.example/internal/test/assert"
)

func TestBanTimes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		after, length, want time.Duration
	}{
		{0, 15 * time.Minute, 15 * time.Minute},
		{400 * time.Millisecond, 15 * time.Minute, 15 * time.Minute},
		{time.Second - 1, time.Second, time.Second},
		{0, 1, time.Second},
		{0, 90*time.Second + 1, 91 * time.Second},
	} {
		at := now.Add(c.after).In(time.FixedZone("", 3600))
		startsAt, endsAt := keys.BanTimes(at, c.length)
		if startsAt != now || endsAt != now.Add(c.want) || !endsAt.After(at) {
			t.Errorf("%v placed at %v: from %v to %v, want %v from %v", c.length, at, startsAt, endsAt, c.want, now)
		}
	}
}

func TestBanned(t *testing.T) {
	t.Parallel()
	end := now
	ban, lifted := &keys.Ban{EndsAt: end}, &keys.Ban{EndsAt: end, LiftedAt: end.Add(-time.Hour)}
	for name, c := range map[string]struct {
		ban  *keys.Ban
		now  time.Time
		want *keys.Ban
	}{
		"no ban":            {nil, end, nil},
		"just before":       {ban, end.Add(-time.Nanosecond), ban},
		"at its end":        {ban, end, nil},
		"long after it":     {ban, end.Add(time.Hour), nil},
		"lifted":            {lifted, end.Add(-time.Minute), nil},
		"long before it is": {ban, end.Add(-24 * time.Hour), ban},
	} {
		assert.Equal(t, (&keys.Caller{Ban: c.ban}).Banned(c.now), c.want, name)
	}
}

// TestReadmeRefusals: README.md has the numbers of the rule.
func TestReadmeRefusals(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	assert.NoError(t, err)
	rows := 0
	for line := range strings.Lines(string(text)) {
		var perMinute, most, ban int64
		if n, _ := fmt.Sscanf(line, "| %d | %d | %d |", &perMinute, &most, &ban); n < 3 {
			continue
		}
		if rows++; most != keys.MostRefusals(perMinute, 0) || ban != most+1 {
			t.Errorf("at a limit of %d: want %d refusals, and not %s", perMinute, keys.MostRefusals(perMinute, 0), line)
		}
	}
	assert.True(t, rows >= 4, "README.md has", rows, "rows")
}
