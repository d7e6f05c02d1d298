package undo

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"petstore.example/internal/ctl/cmdutil"
	"petstore.example/internal/store"
)

// parseNumbers reads numbers of entries, and ranges of them such as 4711-4760: each once, in their order.
func parseNumbers(args []string) (numbers []int64, err error) {
	for _, arg := range args {
		from, to, isRange := strings.Cut(arg, "-")
		if !isRange {
			to = from
		}
		first, firstErr := strconv.ParseInt(from, 10, 64)
		last, lastErr := strconv.ParseInt(to, 10, 64)
		switch {
		case errors.Join(firstErr, lastErr) != nil || first < 1 || last < first:
			return nil, cmdutil.UsageErrorf("%.80q is neither the number of an audit entry nor a range of them", arg).
				WithHint("give the number that the change printed, such as 4711 or 4711-4760,\nor find it with: " + findEntries(arg))
		case last-first >= int64(store.MaxBatch-len(numbers)):
			return nil, cmdutil.UsageErrorf("at most %d entries are taken back at once", store.MaxBatch)
		}
		for n := first; n <= last; n++ {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return slices.Compact(numbers), nil
}

var tenantName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// findEntries is the command that lists the numbers of entries: those of the tenant if a tenant's name was given for one.
func findEntries(arg string) string {
	if tenantName.MatchString(arg) && strings.Trim(arg, "0123456789-") != "" {
		return "petstorectl audit list --tenant " + arg
	}
	return "petstorectl audit list"
}
