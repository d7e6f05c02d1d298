package api

import (
	"net/http"
	"strconv"
	"time"
)

// deprecation is the announced end of an operation.
type deprecation struct {
	// since and end are Unix seconds. From end on the operation responds with 410.
	since, end int64
	// guide and successor are paths below the base URL's prefix.
	guide, successor string
	message          string

	deprecated, sunset []string
}

// getPetRemoval is the removal of GET /pets/{petId} on 5 December 2030, announced five years
// before.
var getPetRemoval = newDeprecation(deprecation{
	since:     time.Date(2025, time.December, 5, 0, 0, 0, 0, time.UTC).Unix(),
	end:       time.Date(2030, time.December, 5, 0, 0, 0, 0, time.UTC).Unix(),
	guide:     "/docs/deprecations/get-pet",
	successor: "/v1/pets?status=available",
	message:   "GET /v1/pets/{petId} was removed on 5 December 2030. Use GET /v1/pets with the status filter.",
})

// newDeprecation renders the headers Deprecation (RFC 9745, a Date item) and Sunset (RFC 8594, an
// HTTP date).
func newDeprecation(d deprecation) *deprecation {
	d.deprecated = []string{"@" + strconv.FormatInt(d.since, 10)}
	d.sunset = []string{time.Unix(d.end, 0).UTC().Format(http.TimeFormat)}
	return &d
}

// links returns the Link header with the relations of RFC 9745, RFC 8594 and RFC 5829.
func (d *deprecation) links(prefix string) string {
	guide := "<" + prefix + d.guide + ">"
	return guide + `; rel="deprecation"; type="text/html", ` + guide + `; rel="sunset"; type="text/html", ` +
		"<" + prefix + d.successor + `>; rel="successor-version"`
}

// over reports whether the operation was removed. A nil *deprecation is never over.
func (d *deprecation) over(now time.Time) bool { return d != nil && now.Unix() >= d.end }
