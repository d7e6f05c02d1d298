package closing

import (
	"crypto/sha256"
	"fmt"
	"hash"
)

// Sums are the sums of the lines of an export or a month.
type Sums struct {
	Tenants, Lines, Admitted, Refused int64
	// Overage is a part of Admitted.
	Overage int64
	// SHA256 is the seal: the hash of the lines' own hashes, each in hexadecimal with a line feed
	// after it.
	SHA256 Hash
}

func (s Sums) String() string {
	count := func(n int64, noun string) string {
		if n != 1 {
			noun += "s"
		}
		return fmt.Sprint(n, " ", noun)
	}
	return fmt.Sprintf(
		"%s of %s, %d admitted (%d of them overage) and %d refused, with the SHA-256 %s",
		count(s.Lines, "line"),
		count(s.Tenants, "tenant"),
		s.Admitted,
		s.Overage,
		s.Refused,
		s.SHA256,
	)
}

// Total sums lines.
type Total struct {
	sums Sums
	last int64 // the tenant of the last line
	hash hash.Hash
}

// NewTotal returns the total of no lines.
func NewTotal() *Total { return &Total{hash: sha256.New()} }

// Add adds a line with its hash. The lines of a tenant follow each other.
func (t *Total) Add(l *Line, sum Hash) {
	if t.sums.Lines == 0 || l.TenantID != t.last {
		t.sums.Tenants++
	}
	t.last = l.TenantID
	t.sums.Lines++
	t.sums.Admitted += l.Admitted
	t.sums.Refused += l.Refused
	t.sums.Overage += l.Overage
	fmt.Fprintln(t.hash, sum)
}

// Sums returns the sums so far.
func (t *Total) Sums() Sums {
	s := t.sums
	t.hash.Sum(s.SHA256[:0])
	return s
}
